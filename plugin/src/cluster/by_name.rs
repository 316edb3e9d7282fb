//! Which node has a name.
//!
//! Score asks for every node, so there is a table in which a name is looked for from the place of its digest on. Names
//! are kept with the nodes alone. The place of a node that is gone stays taken until the table is made anew: whoever is
//! there by then has another name, or is found rightly.

use alloc::vec;
use alloc::vec::Vec;

use super::{NodeIndex, digest};

/// Places of nodes, to be found by name.
#[derive(Debug, Default)]
pub(super) struct ByName {
    /// Rows plus one, and 0 where nothing is: in at least half of the places, of which there is a power of two.
    rows: Vec<u32>,
    taken: usize,
}

impl ByName {
    /// The node called `name`, if `name_of` it is that.
    pub fn find<'a>(&self, name: &str, name_of: impl Fn(NodeIndex) -> Option<&'a str>) -> Option<NodeIndex> {
        let mut place = first(name);
        loop {
            let row = self.row(place)?.checked_sub(1)?;
            if name_of(NodeIndex(row)) == Some(name) {
                return Some(NodeIndex(row));
            }
            place = place.wrapping_add(1);
        }
    }

    /// Adds a node that is not among `others`, all that there are.
    pub fn insert<'a>(
        &mut self,
        name: &str,
        at: NodeIndex,
        others: impl Iterator<Item = (NodeIndex, &'a str)> + Clone,
    ) {
        if self.taken.saturating_mul(2) >= self.rows.len() {
            let places = others.clone().count().saturating_add(4).saturating_mul(4).next_power_of_two();
            *self = Self { rows: vec![0; places], taken: 0 };
            others.for_each(|(at, name)| self.put(name, at));
        }
        self.put(name, at);
    }

    #[inline(never)]
    fn put(&mut self, name: &str, at: NodeIndex) {
        let mut place = first(name);
        while self.row(place).is_some_and(|row| row > 0) {
            place = place.wrapping_add(1);
        }
        let place = place & self.rows.len().wrapping_sub(1);
        if let Some(row) = self.rows.get_mut(place) {
            *row = at.0.saturating_add(1);
            self.taken = self.taken.saturating_add(1);
        }
    }

    fn row(&self, place: usize) -> Option<u32> {
        self.rows.get(place & self.rows.len().wrapping_sub(1)).copied()
    }
}

/// Where a name is looked for first, before the table's size is taken into account. Digests of names that differ at the
/// end only are near each other in their lowest bits.
fn first(name: &str) -> usize {
    let digest = digest(name.as_bytes());
    (digest ^ digest >> 16) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Nodes come and go, and rows are used again.
        #[test]
        fn nodes_are_found_by_name(steps in prop::collection::vec((0..60_u8, any::<bool>()), 0..400)) {
            let mut table = ByName::default();
            let mut rows: Vec<Option<String>> = Vec::new();
            let row_of = |rows: &[Option<String>], name: &str| rows.iter().position(|row| row.as_deref() == Some(name));
            for (number, comes) in steps {
                let name = format!("node-{number}");
                match row_of(&rows, &name) {
                    Some(row) if !comes => rows[row] = None,
                    None if comes => {
                        let row = rows.iter().position(Option::is_none).unwrap_or(rows.len());
                        let others = (0..).zip(&rows).filter_map(|(row, name)| Some((NodeIndex(row), name.as_deref()?)));
                        table.insert(&name, NodeIndex(row as u32), others);
                        rows.resize(rows.len().max(row + 1), None);
                        rows[row] = Some(name);
                    }
                    _ => {}
                }
                prop_assert!(table.taken * 2 <= table.rows.len());
                for number in 0..60 {
                    let name = format!("node-{number}");
                    let found = table.find(&name, |at| rows[at.index()].as_deref());
                    prop_assert_eq!(found.map(NodeIndex::index), row_of(&rows, &name), "{}", name);
                }
            }
        }
    }

    #[test]
    fn names_that_are_much_alike_are_near_their_places() {
        let numbers = || 0..crate::cluster::MAX_NODES as u32;
        let plain = numbers().map(|number| format!("node-{number}")).collect();
        let padded = numbers().map(|number| format!("gpu-node-{number:05}")).collect();
        let address = |at| format!("ip-10-0-{}-{}.eu-west-1.compute.internal", at / 256, at % 256);
        let addresses = numbers().map(address).collect();
        let suffixes = numbers().map(|number| format!("gke-training-pool-7c5f9d6b8-{number:04x}")).collect();
        for names in [plain, padded, addresses, suffixes] {
            let names: Vec<String> = names;
            let mut table = ByName::default();
            for (row, name) in names.iter().enumerate() {
                let others = (0..).zip(&names[..row]).map(|(row, name)| (NodeIndex(row), &**name));
                table.insert(name, NodeIndex(row as u32), others);
            }
            let asked = std::cell::Cell::new(0);
            for name in &names {
                let name_of = |at: NodeIndex| {
                    asked.set(asked.get() + 1);
                    Some(&*names[at.index()])
                };
                assert!(table.find(name, name_of).is_some());
            }
            // Half a neighbour before each, as if digests were drawn by chance.
            assert!(asked.get() < names.len() * 3 / 2, "{}: {}", names[0], asked.get());
        }
    }
}
