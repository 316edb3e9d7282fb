//! Names, labels and owners, kind by kind, as the controllers' own tests have them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use crate::load::{Priorities, Source, Workload, workload};

fn expand(text: &str) -> Workload {
    workload(&[Source::new("w.yaml", text)], &Priorities::default()).unwrap_or_else(|fault| panic!("{fault}"))
}

fn names(workload: &Workload) -> Vec<&str> {
    workload.pods.iter().map(|pod| pod.name()).collect()
}

fn labels(pod: &Pod) -> &BTreeMap<String, String> {
    pod.metadata.labels.as_ref().unwrap()
}

fn annotations(pod: &Pod) -> &BTreeMap<String, String> {
    pod.metadata.annotations.as_ref().unwrap()
}

fn owner(pod: &Pod) -> (&str, &str) {
    let owner = &pod.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(owner.controller, Some(true));
    (&owner.kind, &owner.name)
}

fn environment<'a>(pod: &'a Pod, name: &str) -> &'a str {
    let env = pod.spec.as_ref().unwrap().containers[0].env.as_ref().unwrap();
    env.iter().find(|variable| variable.name == name).unwrap().value.as_deref().unwrap()
}

/// A pod template at this indentation.
fn template(indent: usize) -> String {
    let lines = "template:\n  metadata: {labels: {own: label}}\n  spec:\n    containers: [{name: c, image: i}]\n";
    lines.lines().map(|line| format!("{}{line}\n", " ".repeat(indent))).collect()
}

#[test]
fn a_tfjob_s_replicas() {
    let job = expand(&format!(
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: tf, namespace: ml}}\nspec:\n  tfReplicaSpecs:\n    \
         PS:\n      replicas: 1\n{t}    Worker:\n      replicas: 2\n{t}",
        t = template(6)
    ));
    assert_eq!(names(&job), ["tf-ps-0", "tf-worker-0", "tf-worker-1"]);
    let worker = &job.pods[2].pod;
    assert_eq!(owner(worker), ("TFJob", "tf"));
    assert_eq!(labels(worker)["own"], "label");
    assert_eq!(labels(worker)["training.kubeflow.org/job-name"], "tf");
    assert_eq!(labels(worker)["training.kubeflow.org/operator-name"], "tfjob-controller");
    assert_eq!(labels(worker)["training.kubeflow.org/replica-type"], "worker");
    assert_eq!(labels(worker)["training.kubeflow.org/replica-index"], "1");
    let config: serde_json::Value = serde_json::from_str(environment(worker, "TF_CONFIG")).unwrap();
    assert_eq!(config["cluster"]["worker"].as_array().unwrap().len(), 2);
    assert_eq!(config["task"], serde_json::json!({"type": "worker", "index": 1}));
    assert!(job.pod_groups.is_empty());
}

#[test]
fn a_pytorchjob_with_a_scheduling_policy_is_a_pod_group() {
    let job = expand(&format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: pt}}\nspec:\n  runPolicy: {{schedulingPolicy: \
         {{minAvailable: 2}}}}\n  pytorchReplicaSpecs:\n    Master:\n{t}    Worker:\n      replicas: 2\n{t}",
        t = template(6)
    ));
    assert_eq!(names(&job), ["pt-master-0", "pt-worker-0", "pt-worker-1"]);
    let group = &job.pod_groups[0];
    assert_eq!((group.name.as_str(), group.min_member), ("pt", Some(2)));
    assert!(job.pods.iter().all(|pod| labels(&pod.pod)["scheduling.x-k8s.io/pod-group"] == "pt"));
    assert_eq!(labels(&job.pods[0].pod)["training.kubeflow.org/job-role"], "master");
    assert_eq!(environment(&job.pods[2].pod, "RANK"), "2");
    assert_eq!(environment(&job.pods[2].pod, "PET_NNODES"), "3");
}

#[test]
fn both_mpi_jobs() {
    let specs = format!(
        "spec:\n  {{policy}}\n  mpiReplicaSpecs:\n    Launcher:\n{t}    Worker:\n      replicas: 2\n{t}",
        t = template(6)
    );
    let old = expand(&format!(
        "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {{name: m}}\n{}",
        specs.replace("{policy}", "slotsPerWorker: 1")
    ));
    assert_eq!(names(&old), ["m-launcher", "m-worker-0", "m-worker-1"]);
    assert_eq!(labels(&old.pods[1].pod)["training.kubeflow.org/job-role"], "worker");

    let new = expand(&format!(
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: m}}\n{}",
        specs.replace("{policy}", "runPolicy: {schedulingPolicy: {}}\n  launcherCreationPolicy: WaitForWorkersReady")
    ));
    assert_eq!(names(&new), ["m-worker-0", "m-worker-1"]);
    assert_eq!(new.pod_groups[0].min_member, Some(3), "the launcher counts before it is there");
    assert_eq!(labels(&new.pods[0].pod)["training.kubeflow.org/operator-name"], "mpi-operator");
}

#[test]
fn a_volcano_job() {
    let job = expand(&format!(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: v, uid: u-1}}\nspec:\n  minAvailable: 2\n  \
         tasks:\n  - name: ps\n    replicas: 1\n{t}  - name: worker\n    replicas: 2\n{t}",
        t = template(4)
    ));
    assert_eq!(names(&job), ["v-ps-0", "v-worker-0", "v-worker-1"]);
    let pod = &job.pods[2].pod;
    assert_eq!(annotations(pod)["scheduling.k8s.io/group-name"], "v-u-1");
    assert_eq!(annotations(pod)["volcano.sh/task-spec"], "worker");
    assert_eq!(labels(pod)["volcano.sh/job-name"], "v");
    assert_eq!(pod.spec.as_ref().unwrap().scheduler_name.as_deref(), Some("volcano"));
    assert_eq!((job.pod_groups[0].name.as_str(), job.pod_groups[0].min_member), ("v-u-1", Some(2)));
}

#[test]
fn a_ray_cluster_and_the_cluster_of_a_ray_job() {
    let spec = |indent: usize| {
        let pad = " ".repeat(indent);
        format!(
            "{pad}headGroupSpec:\n{}{pad}workerGroupSpecs:\n{pad}- groupName: gpu\n{pad}  replicas: 2\n{pad}  numOfHosts: 2\n{}",
            template(indent + 2),
            template(indent + 2)
        )
    };
    let head = "metadata: {name: r, labels: {ray.io/gang-scheduling-enabled: \"true\"}}";
    let cluster = expand(&format!("apiVersion: ray.io/v1\nkind: RayCluster\n{head}\nspec:\n{}", spec(2)));
    assert_eq!((names(&cluster)[0], cluster.pods.len()), ("r-head", 5));
    assert!(names(&cluster)[1].starts_with("r-gpu-worker-"));
    let worker = &cluster.pods[4].pod;
    assert_eq!(
        (labels(worker)["ray.io/cluster"].as_str(), labels(worker)["ray.io/node-type"].as_str()),
        ("r", "worker")
    );
    assert_eq!(labels(worker)["scheduling.x-k8s.io/pod-group"], "r");
    assert_eq!(cluster.pod_groups[0].min_member, Some(5));

    let job = expand(&format!(
        "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {{name: r}}\nspec:\n  rayClusterSpec:\n{}",
        spec(4)
    ));
    assert_eq!(job.pods.len(), 5, "the submitter comes later");
    assert_eq!(owner(&job.pods[0].pod).0, "RayCluster");
}

#[test]
fn a_jobset_and_its_jobs() {
    let set = expand(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: js}\nspec:\n  replicatedJobs:\n  - name: \
         driver\n    template: {spec: {template: {spec: {containers: [{name: c}]}}}}\n  - name: workers\n    replicas: \
         2\n    template:\n      spec:\n        parallelism: 2\n        completions: 2\n        template: {spec: \
         {containers: [{name: c}]}}\n",
    );
    assert_eq!(set.pods.len(), 5);
    let last = &set.pods[4].pod;
    assert!(last.metadata.name.as_deref().unwrap().starts_with("js-workers-1-1-"));
    assert_eq!(owner(last), ("Job", "js-workers-1"));
    for (key, value) in [
        ("jobset-name", "js"),
        ("replicatedjob-name", "workers"),
        ("replicatedjob-replicas", "2"),
        ("job-index", "1"),
        ("job-global-index", "2"),
        ("global-replicas", "3"),
    ] {
        let key = format!("jobset.sigs.k8s.io/{key}");
        assert_eq!((labels(last)[&key].as_str(), annotations(last)[&key].as_str()), (value, value), "{key}");
    }
    assert_eq!(labels(last)["batch.kubernetes.io/job-completion-index"], "1");
    assert_ne!(labels(last)["jobset.sigs.k8s.io/job-key"], labels(&set.pods[0].pod)["jobset.sigs.k8s.io/job-key"]);
}

#[test]
fn a_leaderworkerset_s_groups() {
    let set = |policy: &str| {
        expand(&format!(
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: l}}\nspec:\n  replicas: \
             2\n  startupPolicy: {policy}\n  leaderWorkerTemplate:\n    size: 3\n    workerTemplate: {{spec: \
             {{containers: [{{name: c}}]}}}}\n"
        ))
    };
    let together = set("LeaderCreated");
    assert_eq!(names(&together), ["l-0", "l-0-1", "l-0-2", "l-1", "l-1-1", "l-1-2"]);
    let worker = &together.pods[5].pod;
    assert_eq!(owner(worker), ("StatefulSet", "l-1"));
    assert_eq!(labels(worker)["leaderworkerset.sigs.k8s.io/group-index"], "1");
    assert_eq!(labels(worker)["leaderworkerset.sigs.k8s.io/worker-index"], "2");
    assert_eq!(annotations(worker)["leaderworkerset.sigs.k8s.io/size"], "3");
    assert_eq!(annotations(worker)["leaderworkerset.sigs.k8s.io/leader-name"], "l-1");
    assert_eq!(names(&set("LeaderReady")), ["l-0", "l-1"]);
}

#[test]
fn built_in_workloads() {
    let job = expand(&format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec:\n  completions: 5\n  parallelism: 2\n  \
         completionMode: Indexed\n{}",
        template(2)
    ));
    assert_eq!(job.pods.len(), 2);
    assert!(names(&job)[1].starts_with("j-1-"));
    assert_eq!(labels(&job.pods[1].pod)["batch.kubernetes.io/job-name"], "j");

    let deployment = expand(&format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  replicas: 2\n  selector: {{}}\n{}",
        template(2)
    ));
    let pod = &deployment.pods[0].pod;
    let (kind, set) = owner(pod);
    assert_eq!((kind, set), ("ReplicaSet", format!("d-{}", labels(pod)["pod-template-hash"]).as_str()));
    assert!(names(&deployment)[0].starts_with(&format!("{set}-")));

    let set = expand(&format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: s}}\nspec:\n  replicas: 2\n  serviceName: s\n  \
         selector: {{}}\n{}",
        template(2)
    ));
    assert_eq!(names(&set), ["s-0", "s-1"]);
    assert_eq!(labels(&set.pods[1].pod)["apps.kubernetes.io/pod-index"], "1");

    let suspended =
        format!("apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec:\n  suspend: true\n{}", template(2));
    assert!(expand(&suspended).pods.is_empty());
}

#[test]
fn an_inference_service_s_predictor() {
    let service = expand(
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: llm}\nspec:\n  predictor:\n    \
         minReplicas: 2\n    model:\n      modelFormat: {name: huggingface}\n      resources: {limits: {nvidia.com/gpu: \
         \"1\"}}\n    nodeSelector: {gpu: \"yes\"}\n",
    );
    assert_eq!(service.pods.len(), 2);
    let pod = &service.pods[0].pod;
    assert!(service.pods[0].name().starts_with("llm-predictor-"));
    assert_eq!(labels(pod)["serving.kserve.io/inferenceservice"], "llm");
    assert_eq!(labels(pod)["component"], "predictor");
    let spec = pod.spec.as_ref().unwrap();
    assert_eq!(spec.containers[0].name, "kserve-container");
    assert_eq!(spec.containers[0].resources.as_ref().unwrap().limits.as_ref().unwrap()["nvidia.com/gpu"].0, "1");
    assert_eq!(spec.node_selector.as_ref().unwrap()["gpu"], "yes");
}
