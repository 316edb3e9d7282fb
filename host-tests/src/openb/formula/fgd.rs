//! Fragmentation gradient descent: place the pod where the expected GPU fragmentation grows least.
//!
//! A node's fragmentation for a typical pod is the free GPU-milli which that pod could not use there: all of it if the pod
//! does not fit, else what lies on devices that are too small for it. F is the mean over the typical pods.

use super::Score;
use crate::openb::cluster::Node;
use crate::openb::workload::Pod;

/// Share of all pods that the typical ones make up, as published.
const POPULARITY: f64 = 0.95;

struct Typical {
    pod: Pod,
    frequency: f64,
}

/// FGD with the true distribution of the workload, which it is given in advance.
pub(super) struct Fgd {
    typical: Vec<Typical>,
}

impl Fgd {
    /// Takes the most frequent requests of `pods` as typical. As published, models restrict alike if they are written alike.
    pub(super) fn new(pods: &[Pod]) -> Self {
        fn request(pod: &Pod) -> (i64, u32, u32, &str) {
            (pod.cpu, pod.milli, pod.gpus, &pod.gpu_spec)
        }
        let mut sorted: Vec<&Pod> = pods.iter().collect();
        sorted.sort_by_key(|pod| request(pod));
        let mut typical: Vec<Typical> = sorted
            .chunk_by(|a, b| request(a) == request(b))
            .map(|same| Typical { pod: same[0].clone(), frequency: same.len() as f64 })
            .collect();
        typical.sort_by(|a, b| b.frequency.total_cmp(&a.frequency).then(request(&b.pod).cmp(&request(&a.pod))));
        let mut kept = 0.0;
        typical.retain(|shape| {
            let keep = kept < POPULARITY * pods.len() as f64;
            kept += if keep { shape.frequency } else { 0.0 };
            keep
        });
        // Shares of all, then of those that are kept.
        let all = pods.len() as f64;
        typical.iter_mut().for_each(|shape| shape.frequency = shape.frequency / all / (kept / all));
        Self { typical }
    }

    /// F of a node, in GPU-milli.
    fn fragmentation(&self, node: &Node) -> f64 {
        let free = node.gpu_free();
        // By why a pod can use nothing of it. Added up in this order, as published: where a placement neither gains nor
        // loses, the last bit of the sum decides between two scores.
        let mut sums = [0.0; 6];
        for Typical { pod, frequency } in &self.typical {
            let too_small = node.devices.iter().filter(|free| **free < pod.milli);
            let devices = node.devices.len() - too_small.clone().count() >= pod.gpus as usize;
            let (why, unusable) = match (devices, pod.cpu <= node.cpu_free) {
                (_, true) if pod.gpus == 0 => (3, free),
                (_, false) if pod.gpus == 0 => (4, free),
                _ if !pod.accepts(node.model) => (5, free),
                (false, false) => (0, free),
                (false, true) => (1, free),
                (true, false) => (2, free),
                (true, true) => (1, too_small.map(|free| i64::from(*free)).sum()),
            };
            sums[why] += frequency * unusable as f64;
        }
        sums.iter().sum()
    }

    /// Score of the placement, and the device that gives it to a shared pod.
    fn best(&self, node: &Node, pod: &Pod) -> (i64, Option<usize>) {
        let before = self.fragmentation(node);
        let on = |device: Option<usize>| {
            let mut after = node.clone();
            after.take(pod, device);
            (score(before - self.fragmentation(&after)), device)
        };
        if !pod.is_shared() {
            return on(None);
        }
        let fitting = node.devices.iter().enumerate().filter(|(_, free)| **free >= pod.milli);
        // Of equal devices the first.
        fitting.map(|(device, _)| on(Some(device))).rev().max_by_key(|(score, _)| *score).unwrap_or((0, None))
    }
}

/// What a placement gains, in GPU-milli, as an integer score: a sigmoid over whole GPUs.
fn score(gain: f64) -> i64 {
    (100.0 * (1.0 / (1.0 + (-gain / 1000.0).exp()))) as i64
}

impl Score for Fgd {
    fn score(&self, node: &Node, pod: &Pod) -> i64 {
        self.best(node, pod).0
    }

    fn device(&self, node: &Node, pod: &Pod) -> Option<usize> {
        self.best(node, pod).1
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::openb::read::{Model, Models, NodeRow};

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(in crate::openb::formula) struct Cases {
        typical_pod_sets: BTreeMap<String, Vec<CasePod>>,
        frag_cases: Vec<FragCase>,
        pub(in crate::openb::formula) gpu_packing_scores: Vec<PackingCase>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(in crate::openb::formula) struct CasePod {
        #[serde(default)]
        cpu_milli: i64,
        gpu_milli: u32,
        gpu_num: u32,
        #[serde(default)]
        gpu_type: String,
        #[serde(default)]
        freq_pct: f64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FragCase {
        id: String,
        set: String,
        node: CaseNode,
        frag_milli: f64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CaseNode {
        cpu_left: i64,
        gpu_left: Vec<u32>,
        gpu_type: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(in crate::openb::formula) struct PackingCase {
        pub(in crate::openb::formula) gpu_left: Vec<u32>,
        pub(in crate::openb::formula) pod: CasePod,
        pub(in crate::openb::formula) score: i64,
    }

    impl Cases {
        pub(in crate::openb::formula) fn read() -> Self {
            serde_json::from_str(include_str!("../../../testdata/openb/fgd_fragmentation.json")).unwrap()
        }
    }

    const MODELS: [&str; 6] = ["1080", "2080", "T4", "P100", "V100M16", "V100M32"];

    fn model(name: &str) -> Option<Model> {
        let at = MODELS.iter().position(|known| *known == name);
        assert!(at.is_some() || name.is_empty(), "{name}");
        at.map(|at| Model(u8::try_from(at).unwrap()))
    }

    impl CasePod {
        pub(in crate::openb::formula) fn pod(&self) -> Pod {
            Pod {
                name: String::new(),
                cpu: self.cpu_milli,
                memory: 0,
                gpus: self.gpu_num,
                milli: self.gpu_milli,
                models: model(&self.gpu_type).map(|model| Models(1 << model.0)),
                gpu_spec: self.gpu_type.clone(),
                shape: 0,
            }
        }
    }

    pub(in crate::openb::formula) fn node(cpu_free: i64, devices: &[u32], model: Option<Model>) -> Node {
        let row = NodeRow { name: String::new(), cpu: cpu_free, memory: 0, gpus: 0, model };
        Node { devices: devices.to_vec(), ..Node::new(&row) }
    }

    #[test]
    fn fragmentation_is_the_published_one() {
        let cases = Cases::read();
        assert_eq!(cases.frag_cases.len(), 7);
        for case in &cases.frag_cases {
            let shape = |pod: &CasePod| Typical { pod: pod.pod(), frequency: pod.freq_pct / 100.0 };
            let fgd = Fgd { typical: cases.typical_pod_sets[&case.set].iter().map(shape).collect() };
            let found = fgd.fragmentation(&node(case.node.cpu_left, &case.node.gpu_left, model(&case.node.gpu_type)));
            assert!((found - case.frag_milli).abs() < 0.01, "{}: {found}, published {}", case.id, case.frag_milli);
        }
    }

    #[test]
    fn typical_pods_are_the_most_frequent_ones() {
        let pod = |cpu| Pod { cpu, gpus: 1, milli: 1000, ..Pod::default() };
        let pods: Vec<Pod> = (0..100).map(|i| pod(if i < 90 { 1 } else { i })).collect();
        let fgd = Fgd::new(&pods);
        // 90 of one kind and five of the ten others make 95 %.
        assert_eq!(fgd.typical.iter().map(|shape| shape.pod.cpu).collect::<Vec<_>>(), [1, 99, 98, 97, 96, 95]);
        assert!((fgd.typical.iter().map(|shape| shape.frequency).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
