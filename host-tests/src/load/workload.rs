//! Workload files: pods, and the objects that controllers make pods of.

use std::rc::Rc;

use serde_json::Value;

use super::cluster::{Priorities, pod};
use super::document::{Document, Seen, Source};
use super::fault::Fault;
use super::pod_group::{PodGroup, pod_group};
use super::unread::unread;
use super::{other_policies, other_schedulers, validate};
use crate::hint::did_you_mean;
use crate::object::PodObject;
use crate::workload::{KINDS, expand, why_no_pods};

/// What workload files hold.
#[derive(Debug, Default)]
pub struct Workload {
    /// The pods, in the order in which they are created.
    pub pods: Vec<Rc<PodObject>>,
    /// Sizes of gangs.
    pub pod_groups: Vec<PodGroup>,
    /// Oddities that do not keep the files from being used.
    pub notes: Vec<String>,
}

/// Kinds that often stand beside workloads and say nothing about scheduling.
const BESIDE: [&str; 17] = [
    "ConfigMap",
    "HorizontalPodAutoscaler",
    "Ingress",
    "LimitRange",
    "Namespace",
    "NetworkPolicy",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "Queue",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServingRuntime",
    "ClusterServingRuntime",
];

/// Reads workload files.
///
/// # Errors
/// The first fault.
pub fn workload(sources: &[Source], priorities: &Priorities) -> Result<Workload, Fault> {
    let mut workload = Workload::default();
    let mut seen = Seen::default();
    for source in sources {
        for document in source.documents()? {
            seen.add(&document)?;
            workload.add(&document, priorities)?;
        }
    }
    let pods = || workload.pods.iter().map(|pod| &**pod);
    let notes = [other_policies::notes(pods()), other_schedulers::notes(pods())].concat();
    workload.notes.extend(notes);
    Ok(workload)
}

impl Workload {
    fn add(&mut self, document: &Document<'_>, priorities: &Priorities) -> Result<(), Fault> {
        if document.kind == "Pod" {
            let pod = pod(document)?;
            self.note_unread(document, &document.decode()?);
            return self.add_pod(pod, document, priorities);
        }
        if document.kind == "PodGroup" {
            self.pod_groups.extend(pod_group(document)?);
            return Ok(());
        }
        if let Some(expansion) = expand(document)? {
            let object = document.decode()?;
            self.note_unread(document, &object);
            if expansion.pods.is_empty() {
                let why = why_no_pods(&object).map_or_else(String::new, |why| format!(": {why}"));
                self.notes.push(document.fault(format!("makes no pods{why}")).to_string());
            }
            if document.mentions("schedulingGroup") || document.mentions("workloadRef") {
                self.notes
                    .push(document.fault("group references in templates are not passed on; use pods").to_string());
            }
            for pod in expansion.pods {
                validate::pod(&pod).map_err(|why| document.fault(why))?;
                self.add_pod(PodObject::new(pod), document, priorities)?;
            }
            self.pod_groups.extend(expansion.pod_group);
            return Ok(());
        }
        if BESIDE.contains(&document.kind.as_str()) {
            self.notes.push(document.fault("is left out: it makes no pods").to_string());
            return Ok(());
        }
        let hint = did_you_mean(&document.kind, KINDS.split(", "));
        Err(document.fault(format!(
            "no pods are known to come of {} {}{hint}; a workload file holds {KINDS}, PodGroup",
            document.api_version, document.kind
        )))
    }

    fn note_unread(&mut self, document: &Document<'_>, object: &Value) {
        let notes = unread(&document.kind, object).into_iter();
        self.notes.extend(notes.map(|note| document.fault(note).to_string()));
    }

    fn add_pod(&mut self, pod: PodObject, document: &Document<'_>, priorities: &Priorities) -> Result<(), Fault> {
        let mut resolved = Ok(());
        let pod = pod.with_pod(|pod| resolved = priorities.resolve(pod));
        resolved.map_err(|message| document.fault(message))?;
        self.pods.push(Rc::new(pod));
        Ok(())
    }
}
