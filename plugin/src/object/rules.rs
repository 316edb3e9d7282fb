//! Which nodes a pod may run on, as far as labels, taints and its own kind decide: what in-tree filters look at besides
//! resources.
//!
//! The scheduler tells of one pod at a time whether a node takes it. Planning for a whole gang needs the answer for
//! members that are not being scheduled now, so their rules are kept. They may be too wide (affinity to other pods,
//! volumes and spreading are not read), never too narrow.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::error::Error;
use super::meta;
use super::pod::Pod;
use super::wire::{self, Reader, Repeated};
use crate::gather::Gather;
use crate::sort::sort;

/// Rules longer than this, in bytes of the pod, are not kept: the pod counts as one that may run anywhere.
const LONGEST: usize = 16 << 10;

/// A node's refusal of pods that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: Box<str>,
    /// Its value, perhaps empty.
    pub value: Box<str>,
    /// `NoSchedule` or `NoExecute`; others do not keep pods away.
    pub effect: Box<str>,
}

impl Taint {
    /// Reads a protobuf `v1.Taint`; `None` for one that keeps no pods away.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, wire::Error> {
        let (mut key, mut value, mut effect) = ("", "", "");
        wire::texts(bytes, &mut [(1, &mut key), (2, &mut value), (3, &mut effect)])?;
        let keeps_away = matches!(effect, "NoSchedule" | "NoExecute");
        Ok(keeps_away.then(|| Self { key: key.into(), value: value.into(), effect: effect.into() }))
    }
}

/// What a node is, for the rules.
pub trait NodeLabels {
    /// The node's name.
    fn name(&self) -> &str;
    /// The value of a label, for keys that some rules name.
    fn label(&self, key: &str) -> Option<&str>;
    /// The taints that keep pods away.
    fn taints(&self) -> &[Taint];
    /// Cordoned.
    fn unschedulable(&self) -> bool;
}

/// The rules of a pod: `nodeSelector`, required node affinity and tolerations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRules {
    selector: Vec<(Box<str>, Box<str>)>,
    /// The node must match one of them; `None` without required node affinity.
    terms: Option<Vec<Term>>,
    tolerations: Vec<Toleration>,
}

/// All of the requirements must hold; a term without any never does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Term {
    labels: Vec<Requirement>,
    /// On `metadata.name`, the only field there is.
    fields: Vec<Requirement>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Requirement {
    key: Box<str>,
    operator: Box<str>,
    values: Vec<Box<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Toleration {
    key: Box<str>,
    exists: bool,
    value: Box<str>,
    effect: Box<str>,
}

impl NodeRules {
    /// The rules of a pod.
    ///
    /// # Errors
    /// If its spec cannot be read.
    pub fn of(pod: &Pod<'_>) -> Result<Self, Error> {
        let mut rules = Self::default();
        let (affinity, tolerations) = (pod.affinity(), pod.tolerations());
        if affinity.len() <= LONGEST {
            rules.selector = pod.node_selector().map(|(key, value)| (key.into(), value.into())).gather();
            rules.terms = node_terms(affinity).map_err(Error::at("spec.affinity"))?;
        }
        for bytes in tolerations.iter().take(256) {
            rules.tolerations.push(bytes.and_then(Toleration::parse).map_err(Error::at("spec.tolerations"))?);
        }
        Ok(rules)
    }

    /// Tells the keys of the labels that the rules look at.
    pub fn keys(&self, mut tell: impl FnMut(&str)) {
        for (key, _) in &self.selector {
            tell(key);
        }
        for term in self.terms.iter().flatten() {
            term.labels.iter().for_each(|label| tell(&label.key));
        }
    }

    /// Whether the pod may run on the node.
    pub fn allow(&self, node: &impl NodeLabels) -> bool {
        let tolerated = |taint: &Taint| self.tolerations.iter().any(|toleration| toleration.covers(taint));
        let cordon =
            || Taint { key: "node.kubernetes.io/unschedulable".into(), value: "".into(), effect: "NoSchedule".into() };
        let selected = self.selector.iter().all(|(key, value)| node.label(key) == Some(value));
        let matches = |term: &Term| {
            !term.is_empty()
                && term.labels.iter().all(|label| label.holds(node.label(&label.key)))
                && term.fields.iter().all(|field| field.holds(Some(node.name())))
        };
        selected
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(matches))
            && node.taints().iter().all(tolerated)
            && (!node.unschedulable() || tolerated(&cordon()))
    }
}

/// The terms of required node affinity; `None` if there is none.
fn node_terms(affinity: &[u8]) -> Result<Option<Vec<Term>>, wire::Error> {
    let mut terms = None;
    for node_affinity in Repeated::of(affinity, 1).iter() {
        for required in Repeated::of(node_affinity?, 1).iter() {
            let terms: &mut Vec<Term> = terms.get_or_insert_default();
            for term in Repeated::of(required?, 1).iter() {
                let term = term?;
                terms.push(Term { labels: requirements(term, 1)?, fields: requirements(term, 2)? });
            }
        }
    }
    Ok(terms)
}

fn requirements(message: &[u8], number: u32) -> Result<Vec<Requirement>, wire::Error> {
    Repeated::of(message, number).iter().map(|requirement| Requirement::parse(requirement?)).try_gather()
}

/// The values of label `key` that required node affinity allows, sorted; `None` if it allows any.
///
/// Only `In` is read, so the answer may be too wide, never too narrow: a node with another value cannot take the pod.
pub(super) fn allowed_values(affinity: &[u8], key: &str) -> Result<Option<Vec<Box<str>>>, wire::Error> {
    let Some(terms) = node_terms(affinity)? else { return Ok(None) };
    let mut allowed: Option<Vec<Box<str>>> = None;
    // A node needs to match one of the terms; one without requirements matches no node.
    for term in terms.into_iter().filter(|term| !term.is_empty()) {
        match term.allowed_values(key) {
            Some(values) => allowed.get_or_insert_default().extend(values),
            None => return Ok(None),
        }
    }
    if let Some(values) = &mut allowed {
        sort(values);
        values.dedup();
    }
    Ok(allowed)
}

impl Term {
    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// A node needs to match all requirements.
    fn allowed_values(self, key: &str) -> Option<Vec<Box<str>>> {
        let mut lists = self.labels.into_iter().filter(|label| *label.key == *key && *label.operator == *"In");
        let mut values = lists.next()?.values;
        for mut also in lists {
            sort(&mut also.values);
            values.retain(|value| also.values.binary_search(value).is_ok());
        }
        Some(values)
    }
}

impl Requirement {
    fn parse(bytes: &[u8]) -> Result<Self, wire::Error> {
        let mut requirement = Self::default();
        let mut fields = Reader::new(bytes);
        while fields.advance() {
            match fields.number {
                1 => requirement.key = fields.text().into(),
                2 => requirement.operator = fields.text().into(),
                3 => requirement.values.push(fields.text().into()),
                _ => {}
            }
        }
        fields.finish().map(|()| requirement)
    }

    fn holds(&self, label: Option<&str>) -> bool {
        let listed = || label.is_some_and(|label| self.values.iter().any(|value| **value == *label));
        let number = |text: Option<&str>| text.and_then(crate::text::number);
        let limit = || number(self.values.first().map(|value| &**value));
        let compare =
            |order: fn(&i64, &i64) -> bool| number(label).zip(limit()).is_some_and(|(one, other)| order(&one, &other));
        match &*self.operator {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            "Gt" => compare(i64::gt),
            "Lt" => compare(i64::lt),
            _ => false,
        }
    }
}

impl Toleration {
    fn parse(bytes: &[u8]) -> Result<Self, wire::Error> {
        let (mut key, mut operator, mut value, mut effect) = ("", "", "", "");
        wire::texts(bytes, &mut [(1, &mut key), (2, &mut operator), (3, &mut value), (4, &mut effect)])?;
        Ok(Self { key: key.into(), exists: operator == "Exists", value: value.into(), effect: effect.into() })
    }

    fn covers(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && (self.exists || self.value == taint.value)
    }
}

/// A number for all of a spec that decides where the pod may run: alike for pods that are alike.
#[must_use]
pub fn fingerprint(pod: &Pod<'_>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut fold = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    pod.placement_parts(|part| {
        fold(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        fold(part);
    });
    hash
}

/// Whether a node takes one pod of this kind at most: it wants a port of the node, or no pod like itself on it.
///
/// # Errors
/// If its spec cannot be read.
pub fn one_per_node(pod: &Pod<'_>) -> Result<bool, Error> {
    for container in pod.containers() {
        if container?.has_host_port().map_err(Error::at("spec.containers"))? {
            return Ok(true);
        }
    }
    for anti_affinity in Repeated::of(pod.affinity(), 3).iter() {
        let terms = Repeated::of(anti_affinity.map_err(Error::at("spec.affinity"))?, 1).iter();
        for term in terms {
            if term.and_then(|term| excludes(term, pod)).map_err(Error::at("spec.affinity"))? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a required anti-affinity term keeps the pod itself off a node that runs its like.
fn excludes(term: &[u8], pod: &Pod<'_>) -> Result<bool, wire::Error> {
    let (mut selects, mut by_host, mut other_namespaces) = (false, false, false);
    let mut fields = Reader::new(term);
    while fields.advance() {
        match fields.number {
            1 => selects = selects_pod(fields.bytes(), pod)?,
            2 => other_namespaces |= fields.text() != pod.meta.namespace,
            3 => by_host = fields.text() == "kubernetes.io/hostname",
            _ => {}
        }
    }
    fields.finish().map(|()| selects && by_host && !other_namespaces)
}

/// Whether a label selector selects the pod.
fn selects_pod(selector: &[u8], pod: &Pod<'_>) -> Result<bool, wire::Error> {
    if !meta::texts(Repeated::of(selector, 1)).all(|(key, value)| pod.meta.label(key) == Some(value)) {
        return Ok(false);
    }
    let expressions = requirements(selector, 2)?;
    Ok(expressions.iter().all(|expression| expression.holds(pod.meta.label(&expression.key))))
}
