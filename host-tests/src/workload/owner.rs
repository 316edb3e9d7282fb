//! The owner of pods, and how a pod is made from its template.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EnvVar, Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::suffix;

/// What a pod's `ownerReferences` say of its controller.
#[derive(Clone, Debug)]
pub struct Owner {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl Owner {
    /// The owner that `meta` belongs to.
    pub fn new(api_version: &str, kind: &str, meta: &ObjectMeta) -> Self {
        let namespace = meta.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let name = meta.name.clone().or_else(|| meta.generate_name.clone()).unwrap_or_default();
        let uid = meta.uid.clone().unwrap_or_else(|| suffix::uid(kind, &namespace, &name));
        Self { api_version: api_version.to_owned(), kind: kind.to_owned(), namespace, name, uid }
    }

    /// An object that this one makes, such as a Deployment's ReplicaSet.
    pub fn child(&self, api_version: &str, kind: &str, name: String) -> Self {
        let uid = suffix::uid(kind, &self.namespace, &name);
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: self.namespace.clone(),
            name,
            uid,
        }
    }

    /// A pod of this owner.
    pub fn pod(&self, name: String, template: &PodTemplateSpec) -> Pod {
        let meta = template.metadata.clone().unwrap_or_default();
        Pod {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(self.namespace.clone()),
                labels: meta.labels,
                annotations: meta.annotations,
                owner_references: Some(vec![OwnerReference {
                    api_version: self.api_version.clone(),
                    kind: self.kind.clone(),
                    name: self.name.clone(),
                    uid: self.uid.clone(),
                    controller: Some(true),
                    block_owner_deletion: Some(true),
                }]),
                ..ObjectMeta::default()
            },
            spec: template.spec.clone(),
            status: None,
        }
    }

    /// A name with five characters like those that the API server makes up.
    pub fn generated(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}-{}", suffix::random(&format!("{}/{prefix}", self.namespace), index))
    }
}

/// Adds labels to a pod; the controller's own win over the template's.
pub fn label<const N: usize>(pod: &mut Pod, labels: [(&str, &str); N]) {
    insert(pod.metadata.labels.get_or_insert_default(), &labels);
}

/// Adds annotations to a pod.
pub fn annotate<const N: usize>(pod: &mut Pod, annotations: [(&str, &str); N]) {
    insert(pod.metadata.annotations.get_or_insert_default(), &annotations);
}

fn insert(map: &mut BTreeMap<String, String>, entries: &[(&str, &str)]) {
    map.extend(entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
}

/// Adds environment variables to every container of a pod.
pub fn environment(pod: &mut Pod, variables: &[(&str, String)]) {
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        let env = container.env.get_or_insert_default();
        let variables = variables.iter().map(|(name, value)| EnvVar {
            name: (*name).to_owned(),
            value: Some(value.clone()),
            value_from: None,
        });
        env.extend(variables);
    }
}
