//! What somebody who mistyped a word probably meant.

/// Below this similarity two words have nothing to do with each other; 1 is equal. Typing errors in short words need it
/// low, and names that differ in a digit only are far above it.
const ALIKE: f64 = 0.7;

/// `; did you mean ...?` with the known word that is most like the given one, or nothing if none is like it.
#[must_use]
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let plain = given.to_lowercase();
    let alike =
        known.into_iter().map(|word| (strsim::normalized_damerau_levenshtein(&plain, &word.to_lowercase()), word));
    match alike.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        // A word that is known as it stands is not the fault.
        Some((likeness, word)) if likeness >= ALIKE && word != given => format!("; did you mean {word}?"),
        _ => String::new(),
    }
}

/// A message with a hint at the end of every line of the form "unknown ... `given`, expected one of `known`, `known`", which
/// is how serde and the policy's reader speak.
#[must_use]
pub fn hinted(message: &str) -> String {
    let lines = message.lines().map(|line| {
        // Every second piece is between backticks.
        let mut words = line.split('`').skip(1).step_by(2);
        match words.next() {
            Some(given) if line.contains("unknown ") && line.contains(", expected") => {
                format!("{line}{}", did_you_mean(given, words))
            }
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_meant() {
        let known = ["placements", "pending", "placed", "sameNode"];
        assert_eq!(did_you_mean("placment", known), "; did you mean placements?");
        assert_eq!(did_you_mean("samenode", known), "; did you mean sameNode?");
        assert_eq!(did_you_mean("pnding", known), "; did you mean pending?");
        assert_eq!(did_you_mean("", known), "");
        assert_eq!(did_you_mean("weights", known), "");
        assert_eq!(did_you_mean("default/a-1", ["default/a-10", "default/a-2"]), "; did you mean default/a-10?");
        assert_eq!(did_you_mean("x", []), "");
    }

    #[test]
    fn lists_of_known_words_give_hints() {
        let message = "p.json: unknown field `binpak`, expected one of `weights`, `binpack`\nother `text`";
        let (first, rest) = message.split_once('\n').unwrap();
        assert_eq!(hinted(message), format!("{first}; did you mean binpack?\n{rest}"));
        assert_eq!(hinted("unknown variant `abc`, expected `x` or `y`"), "unknown variant `abc`, expected `x` or `y`");
    }
}
