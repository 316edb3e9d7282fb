//! KServe's InferenceService (`serving.kserve.io/v1beta1`): its predictor, as the Deployment of the standard mode.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Expansion;
use super::core::deployment_pods;
use super::owner::{Owner, annotate, label};

/// An InferenceService.
#[derive(Deserialize)]
pub struct InferenceService {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    predictor: Predictor,
}

/// A predictor is a pod spec with more in it: the number of replicas, and a model instead of a container.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Predictor {
    min_replicas: Option<i32>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Runtimes that may stand in place of `model`.
const RUNTIMES: [&str; 9] =
    ["model", "huggingface", "lightgbm", "onnx", "pytorch", "sklearn", "tensorflow", "triton", "xgboost"];

/// The predictor's pods.
///
/// # Errors
/// When the predictor names neither a model nor containers.
pub fn expand(service: InferenceService) -> Result<Expansion, String> {
    let owner = Owner::new("serving.kserve.io/v1beta1", "InferenceService", &service.metadata);
    let predictor = service.spec.predictor;
    let name = format!("{}-predictor", owner.name);
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: predictor.labels,
            annotations: predictor.annotations,
            ..ObjectMeta::default()
        }),
        spec: Some(pod_spec(predictor.rest)?),
    };
    let deployment = owner.child("apps/v1", "Deployment", name.clone());
    let mut pods = deployment_pods(&deployment, predictor.min_replicas, &template);
    for pod in &mut pods {
        label(
            pod,
            [
                ("app", &format!("isvc.{name}")),
                ("component", "predictor"),
                ("serving.kserve.io/inferenceservice", &owner.name),
            ],
        );
        annotate(pod, [("internal.serving.kserve.io/deployment-mode", "Standard")]);
    }
    Ok(Expansion { pods, pod_group: None })
}

fn pod_spec(mut fields: Map<String, Value>) -> Result<PodSpec, String> {
    let model = RUNTIMES.iter().find_map(|runtime| fields.remove(*runtime));
    fields.entry("containers").or_insert_with(|| Value::Array(Vec::new()));
    let mut spec: PodSpec =
        serde_json::from_value(Value::Object(fields)).map_err(|e| format!("spec.predictor: {e}"))?;
    if let Some(model) = model {
        let mut container: Map<String, Value> = match model {
            Value::Object(fields) => fields,
            _ => return Err("spec.predictor.model is not an object".to_owned()),
        };
        container.insert("name".to_owned(), "kserve-container".into());
        let container: Container =
            serde_json::from_value(Value::Object(container)).map_err(|e| format!("spec.predictor.model: {e}"))?;
        spec.containers.insert(0, container);
    }
    if spec.containers.is_empty() {
        return Err(format!("spec.predictor has no containers and none of {}", RUNTIMES.join(", ")));
    }
    Ok(spec)
}
