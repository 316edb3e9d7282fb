//! That no name is left, and that what is left still runs the same.

use std::path::Path;

use super::anonymize;
use crate::load::{self, Source};
use crate::simulation::Options;
use crate::trial::{Trial, load_module};

const SECRET: &str = r#"
apiVersion: v1
kind: Node
metadata:
  name: acme-gpu-1
  labels: {kubernetes.io/hostname: acme-gpu-1, acme.com/team: apollo, acme.com/node-type: apollo, acme.com/mode: apollo,
    acme.com/account: "123456789012", node-role.kubernetes.io/apollo: "", node.kubernetes.io/instance-type: acme-large,
    nvidia.com/gpu.product: H100, topology.kubernetes.io/zone: acme-zone}
  annotations: {acme.com/note: apollo, scheduling.koordinator.sh/usage-thresholds: '{"usageThresholds":{"cpu":50},"apollo":1}',
    node.koordinator.sh/raw-allocatable: '{"cpu":"4","acme.com/fpga":"1"}', stowage.dev/node-state: '{"v":1,"at":1,"gangs":{"apollo/bert":1}}'}
spec: {taints: [{key: acme.com/reserved, value: apollo, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "8", acme.com/fpga: "2"}}
---
apiVersion: v1
kind: Pod
metadata:
  name: bert-worker-0
  namespace: kube-acme
  labels: {jobset.sigs.k8s.io/replicatedjob-name: apollo-trainers, acme.com/job-role: apollo, volcano.sh/task-spec: apollo-task,
    training.kubeflow.org/replica-type: worker}
  ownerReferences: [{apiVersion: acme.com/v1, kind: ApolloJob, name: bert, uid: apollo-uid, controller: true}]
  annotations: {stowage.dev/gang: bert, stowage.dev/gang-min: "2",
    gang.scheduling.koordinator.sh/groups: '["apollo/bert", "apollo/gpt"]', kubectl.kubernetes.io/last-applied-configuration: '{"apollo":1}'}
spec:
  schedulerName: acme-scheduler
  nodeSelector: {acme.com/team: apollo}
  tolerations: [{key: acme.com/reserved, operator: Equal, value: apollo, effect: NoSchedule}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions:
    [{key: kubernetes.io/hostname, operator: In, values: [acme-gpu-1]}], matchFields: [{key: metadata.name, operator: In, values: [acme-gpu-1]}]}]}}}
  containers:
  - {name: apollo, image: acme.com/apollo/bert:1, command: [apollo], env: [{name: APOLLO, value: apollo}],
     resources: {requests: {nvidia.com/gpu: "1", acme.com/fpga: "1"}, limits: {nvidia.com/gpu: "1", acme.com/fpga: "1"}, claims: [{name: apollo-claim}]}}
status:
  conditions:
  - {type: target-health.elbv2.k8s.aws/k8s-apollo-bert-0a1b2c, status: "True"}
  - {type: PodScheduled, status: "False", reason: ApolloReason}
"#;

#[test]
fn nothing_of_a_name_is_left() {
    let cluster = load::cluster(&[Source::new("secret".to_owned(), SECRET.to_owned())]).unwrap();
    let module = load_module(None).unwrap();
    let trial = Trial { cluster: cluster.into(), workload: Default::default(), module, policy: String::new() };
    let written = anonymize(&trial);
    let text = written.to_string();
    for secret in ["acme", "apollo", "bert", "gpt", "123456789012"] {
        assert!(!text.to_lowercase().contains(secret), "{secret} in {text}");
    }
    for kept in [
        "H100",
        "nvidia.com/gpu",
        "stowage.dev/gang-min",
        "32Gi",
        "topology.kubernetes.io/zone",
        r#"{\"usageThresholds\":{\"cpu\":50}}"#,
        "PodScheduled",
        "worker",
    ] {
        assert!(text.contains(kept) || text.contains(&kept.replace('"', "\\\"")), "no {kept} in {text}");
    }
    let (node, pod) = (&written["items"][0], &written["items"][1]);
    let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
    let resources = requests.as_object().unwrap().keys().filter(|name| *name != "nvidia.com/gpu");
    for resource in resources {
        assert_eq!(node["status"]["allocatable"][resource], "2", "the node has what the pod asks for: {written}");
    }
    assert_eq!(requests.as_object().unwrap().len(), 2);
}

#[test]
fn what_is_written_runs_like_the_original() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut folders: Vec<_> = std::fs::read_dir(scenarios).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut compared = 0;
    for folder in folders {
        let (cluster, workload) = (folder.join("cluster.yaml"), folder.join("workload.yaml"));
        if !cluster.exists() || !workload.exists() {
            continue;
        }
        let module = load_module(None).unwrap();
        let original = Trial::read(&[cluster], &[workload], None, module.clone()).unwrap();
        let text = anonymize(&original).to_string();
        let cluster = load::cluster(&[Source::new("anonymous".to_owned(), text)]).unwrap();
        let anonymous = Trial { cluster: cluster.into(), workload: Default::default(), module, policy: String::new() };
        let outcome = |trial: &Trial| {
            let mut simulation = trial.simulation(Options::default()).unwrap();
            simulation.run_until_idle().unwrap();
            (simulation.placements().len(), simulation.pending().len())
        };
        assert_eq!(outcome(&original), outcome(&anonymous), "{}", folder.display());
        compared += 1;
    }
    assert!(compared > 3, "{compared} scenarios compared");
}
