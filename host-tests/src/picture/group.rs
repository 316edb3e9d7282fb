//! Jobs and classes: what pods are told apart by, with a letter, a colour and a pattern each.

use std::collections::HashMap;

use crate::trial::PodFacts;

/// Fills on which black letters have a contrast of at least 7:1, told apart by people with any kind of colour vision as
/// far as eight can be (after Okabe and Ito, lightened).
pub const COLOURS: [&str; 8] = ["#f0b429", "#7cc4f0", "#4fd1a5", "#f7ec7a", "#a9bdf5", "#f59b6c", "#e7b0d0", "#c4c9cf"];

/// How many patterns there are; pattern 0 is plain.
pub const PATTERNS: usize = 5;

/// A job or a class.
#[derive(Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// What stands in its cells.
    pub letter: String,
    /// Its pods in the picture, pending ones too.
    pub pods: usize,
    /// Whether the run submitted pods of it.
    pub submitted: bool,
    /// GPUs of its pods, in thousandths.
    gpu_milli: i64,
}

/// The classes of the policy, most protected first, with their letters.
const CLASSES: [(&str, &str); 7] =
    [("LSE", "E"), ("LSR", "R"), ("LS", "L"), ("Batch", "T"), ("BE", "B"), ("DaemonSet", "D"), ("SYSTEM", "Y")];

/// Groups under construction.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    index: HashMap<String, usize>,
}

impl Groups {
    /// Counts a pod; the number is the group's until [`Groups::jobs`] or [`Groups::classes`] renumbers them.
    pub fn count(&mut self, name: String, submitted: bool, gpu_milli: i64) -> usize {
        let at = *self.index.entry(name.clone()).or_insert_with(|| {
            self.groups.push(Group { name, letter: String::new(), pods: 0, submitted: false, gpu_milli: 0 });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        group.pods += 1;
        group.submitted |= submitted;
        group.gpu_milli += gpu_milli;
        at
    }

    /// The jobs, those that the run submitted first, then the largest; with the new number of each old one.
    pub fn jobs(self) -> (Vec<Group>, Vec<usize>) {
        self.sorted(|group| (!group.submitted, -group.gpu_milli), |at, _| letters(at))
    }

    /// The classes, most protected first; with the new number of each old one.
    pub fn classes(self) -> (Vec<Group>, Vec<usize>) {
        let rank = |name: &str| CLASSES.iter().position(|(known, _)| *known == name);
        let letter = |group: &Group| rank(&group.name).map_or("?", |at| CLASSES[at].1).to_owned();
        self.sorted(|group| rank(&group.name).unwrap_or(CLASSES.len()), |_, group| letter(group))
    }

    fn sorted<K: Ord>(
        self,
        key: impl Fn(&Group) -> K,
        letter: impl Fn(usize, &Group) -> String,
    ) -> (Vec<Group>, Vec<usize>) {
        let mut order: Vec<(usize, Group)> = self.groups.into_iter().enumerate().collect();
        order.sort_by_key(|(_, group)| key(group));
        let mut numbers = vec![0; order.len()];
        let mut groups = Vec::with_capacity(order.len());
        for (new, (old, group)) in order.into_iter().enumerate() {
            numbers[old] = new;
            groups.push(Group { letter: letter(new, &group), ..group });
        }
        (groups, numbers)
    }
}

/// A to Z, AA to ZZ, and so on.
fn letters(mut at: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + u8::try_from(at % 26).unwrap_or(0)));
        if at < 26 {
            break;
        }
        at = at / 26 - 1;
    }
    letters.into_iter().rev().collect()
}

/// The name of a pod's job: its gang, else its controller, else its namespace.
pub fn job_of(pod: &str, facts: &PodFacts) -> String {
    let namespace = pod.split_once('/').map_or("default", |(namespace, _)| namespace);
    match (&facts.gang, facts.owner.as_deref().and_then(|owner| owner.split_once('/'))) {
        (Some(gang), _) => gang.clone(),
        (None, Some((kind, name))) => format!("{namespace}/{name} ({kind})"),
        (None, None) => format!("single pods in {namespace}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letters), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn submitted_jobs_come_first_then_the_largest() {
        let mut groups = Groups::default();
        for (name, submitted, milli) in
            [("small", false, 1000), ("large", false, 8000), ("new", true, 0), ("new", true, 0)]
        {
            groups.count(name.to_owned(), submitted, milli);
        }
        let (jobs, numbers) = groups.jobs();
        let seen: Vec<(&str, &str, usize)> = jobs.iter().map(|job| (&*job.name, &*job.letter, job.pods)).collect();
        assert_eq!(seen, [("new", "A", 2), ("large", "B", 1), ("small", "C", 1)]);
        assert_eq!(numbers, [2, 1, 0]);
    }
}
