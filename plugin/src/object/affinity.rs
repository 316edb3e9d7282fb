//! Which nodes a pod allows by their labels: `nodeSelector` and required node affinity.

use alloc::vec::Vec;

use super::wire::{self, Reader, Repeated};
use crate::sort::sort;

/// The values of label `key` that required node affinity allows, sorted; `None` if it allows any.
///
/// Only `In` is read, so the answer may be too wide, never too narrow: a node with another value cannot take the pod.
pub(super) fn allowed_values<'a>(affinity: &'a [u8], key: &str) -> Result<Option<Vec<&'a str>>, wire::Error> {
    let mut allowed: Option<Vec<&str>> = None;
    for node_affinity in Repeated::of(affinity, 1).iter() {
        for required in Repeated::of(node_affinity?, 1).iter() {
            // A node needs to match one of the terms.
            for term in Repeated::of(required?, 1).iter() {
                let term = term?;
                if term.is_empty() {
                    // Matches no node.
                    continue;
                }
                match allowed_by_term(term, key)? {
                    Some(values) => allowed.get_or_insert_default().extend(values),
                    None => return Ok(None),
                }
            }
        }
    }
    if let Some(values) = &mut allowed {
        sort(values);
        values.dedup();
    }
    Ok(allowed)
}

/// A node needs to match all expressions of a term.
fn allowed_by_term<'a>(term: &'a [u8], key: &str) -> Result<Option<Vec<&'a str>>, wire::Error> {
    let mut allowed: Option<Vec<&str>> = None;
    for expression in Repeated::of(term, 1).iter() {
        let expression = Expression::parse(expression?)?;
        if expression.key != key || expression.operator != "In" {
            continue;
        }
        match &mut allowed {
            Some(values) => {
                let mut also = expression.values;
                sort(&mut also);
                values.retain(|value| also.binary_search(value).is_ok());
            }
            None => allowed = Some(expression.values),
        }
    }
    Ok(allowed)
}

/// A `NodeSelectorRequirement`.
#[derive(Default)]
struct Expression<'a> {
    key: &'a str,
    operator: &'a str,
    values: Vec<&'a str>,
}

impl<'a> Expression<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, wire::Error> {
        let mut expression = Self::default();
        for field in Reader::new(bytes) {
            match field? {
                (1, value) => expression.key = value.text()?,
                (2, value) => expression.operator = value.text()?,
                (3, value) => expression.values.push(value.text()?),
                _ => {}
            }
        }
        Ok(expression)
    }
}
