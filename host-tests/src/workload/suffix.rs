//! Names and hashes that controllers make up, the same in every run.

/// The characters that Kubernetes uses in generated names.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Five characters like those that the API server appends to a `generateName`.
pub fn random(owner: &str, index: usize) -> String {
    letters(hash(&[owner, &index.to_string()]), 5)
}

/// Ten characters like a Deployment's pod template hash.
pub fn template_hash(owner: &str) -> String {
    letters(hash(&[owner, "template"]), 10)
}

/// A UID for an owner.
pub fn uid(kind: &str, namespace: &str, name: &str) -> String {
    let (high, low) = (hash(&[kind, namespace, name]), hash(&[name, namespace, kind]));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}

/// Hexadecimal digits that stand for a SHA-1 sum.
pub fn digest(parts: &[&str]) -> String {
    (0..5).map(|word| format!("{:08x}", hash(&[parts, &[&word.to_string()]].concat()) >> 32)).collect()
}

fn letters(mut value: u64, count: usize) -> String {
    (0..count)
        .map(|_| {
            let letter = ALPHABET[usize::try_from(value % ALPHABET.len() as u64).unwrap_or(0)];
            value /= ALPHABET.len() as u64;
            char::from(letter)
        })
        .collect()
}

/// FNV-1a with a final mix.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 29)
}
