use super::super::membership::{MatchPolicy, Membership, Mode, Recognised, Startup};
use super::{Options, PodText, recognise};

#[derive(Clone, Default)]
struct Pod {
    labels: Vec<(&'static str, &'static str)>,
    annotations: Vec<(&'static str, &'static str)>,
    environment: Vec<(&'static str, &'static str)>,
    native: Option<&'static str>,
}

impl PodText for Pod {
    fn namespace(&self) -> &str {
        "ml"
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().copied()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.annotations.iter().copied()
    }

    fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment.iter().copied()
    }

    fn native_group(&self) -> Option<Box<str>> {
        self.native.map(Into::into)
    }
}

fn labelled(labels: &[(&'static str, &'static str)]) -> Pod {
    Pod { labels: labels.to_vec(), ..Pod::default() }
}

fn annotated(annotations: &[(&'static str, &'static str)]) -> Pod {
    Pod { annotations: annotations.to_vec(), ..Pod::default() }
}

fn member_by(pod: &Pod, options: &Options) -> Membership {
    match recognise(pod, options).expect("no fault") {
        Recognised::Member(membership) => *membership,
        other => panic!("not a member: {other:?}"),
    }
}

fn member(pod: &Pod) -> Membership {
    member_by(pod, &Options::default())
}

fn fault(pod: &Pod) -> String {
    recognise(pod, &Options::default()).expect_err("a fault").to_string()
}

fn name_and_min(pod: &Pod) -> (String, Option<u32>) {
    let member = member(pod);
    (member.gang.to_string(), member.min)
}

#[test]
fn every_system_is_recognised() {
    let task_groups =
        r#"[{"name":"driver","minMember":1},{"name":"executor","minMember":4,"minResource":{"cpu":"1"}}]"#;
    let cases = [
        (annotated(&[("stowage.dev/gang", "a"), ("stowage.dev/gang-min", "2")]), "ml/a", Some(2)),
        (labelled(&[("stowage.dev/gang", "a"), ("stowage.dev/gang-min", "3")]), "ml/a", Some(3)),
        (labelled(&[("scheduling.x-k8s.io/pod-group", "b")]), "ml/b", None),
        (labelled(&[("scheduling.x-k8s.io/pod-group", "b"), ("stowage.dev/gang-size", "7")]), "ml/b", Some(7)),
        (labelled(&[("pod-group.scheduling.sigs.k8s.io", "c")]), "ml/c", None),
        (
            annotated(&[
                ("gang.scheduling.koordinator.sh/name", "d"),
                ("gang.scheduling.koordinator.sh/min-available", "4"),
            ]),
            "ml/d",
            Some(4),
        ),
        (
            labelled(&[
                ("pod-group.scheduling.sigs.k8s.io/name", "e"),
                ("pod-group.scheduling.sigs.k8s.io/min-available", "5"),
            ]),
            "ml/e",
            Some(5),
        ),
        (annotated(&[("scheduling.k8s.io/group-name", "f"), ("volcano.sh/jdb-min-available", "6")]), "ml/f", Some(6)),
        (annotated(&[("scheduling.volcano.sh/group-name", "g")]), "ml/g", None),
        (
            Pod {
                labels: vec![("kueue.x-k8s.io/pod-group-name", "h")],
                annotations: vec![("kueue.x-k8s.io/pod-group-total-count", "8")],
                ..Pod::default()
            },
            "ml/h",
            Some(8),
        ),
        (
            Pod {
                labels: vec![("applicationId", "i")],
                annotations: vec![
                    ("yunikorn.apache.org/task-group-name", "driver"),
                    ("yunikorn.apache.org/task-groups", task_groups),
                ],
                ..Pod::default()
            },
            "ml/i",
            Some(5),
        ),
        (annotated(&[("pod-group-name", "pg-j-1234")]), "ml/pg-j-1234", None),
        (
            Pod {
                labels: vec![
                    ("leaderworkerset.sigs.k8s.io/name", "k"),
                    ("leaderworkerset.sigs.k8s.io/group-index", "2"),
                    ("leaderworkerset.sigs.k8s.io/worker-index", "0"),
                ],
                annotations: vec![("leaderworkerset.sigs.k8s.io/size", "9")],
                ..Pod::default()
            },
            "ml/k-2",
            Some(9),
        ),
        (
            Pod {
                labels: vec![("jobset.sigs.k8s.io/jobset-name", "l")],
                annotations: vec![("stowage.dev/gang-min", "10")],
                ..Pod::default()
            },
            "ml/l",
            Some(10),
        ),
    ];
    for (pod, name, min) in cases {
        assert_eq!(name_and_min(&pod), (name.to_owned(), min));
    }
}

#[test]
fn pods_without_gang_keys_are_single() {
    let single = [
        Pod::default(),
        labelled(&[("app", "web")]),
        // A name alone does not make a gang of what need not be one.
        labelled(&[("jobset.sigs.k8s.io/jobset-name", "l")]),
        labelled(&[("training.kubeflow.org/job-name", "m")]),
        labelled(&[("yunikorn.apache.org/app-id", "n")]),
        labelled(&[("leaderworkerset.sigs.k8s.io/name", "o")]),
        labelled(&[("scheduling.x-k8s.io/pod-group", "")]),
        // A size without a name.
        annotated(&[("stowage.dev/gang-min", "3")]),
        // A serving group grows and shrinks one by one.
        Pod {
            labels: vec![("kueue.x-k8s.io/pod-group-name", "p")],
            annotations: vec![("kueue.x-k8s.io/pod-group-serving", "true")],
            ..Pod::default()
        },
    ];
    for pod in single {
        assert_eq!(recognise(&pod, &Options::default()), Ok(Recognised::Single), "{:?}", pod.labels);
    }
}

#[test]
fn the_first_key_in_order_names_the_gang() {
    let mut pod = Pod {
        labels: vec![
            ("scheduling.x-k8s.io/pod-group", "coscheduling"),
            ("pod-group.scheduling.sigs.k8s.io/name", "light"),
        ],
        annotations: vec![
            ("gang.scheduling.koordinator.sh/name", "koordinator"),
            ("scheduling.k8s.io/group-name", "volcano"),
            ("stowage.dev/gang", "own"),
        ],
        ..Pod::default()
    };
    let mut names = Vec::new();
    while let Ok(Recognised::Member(membership)) = recognise(&pod, &Options::default()) {
        let name = membership.gang.trim_start_matches("ml/").to_owned();
        pod.labels.retain(|(_, value)| *value != name);
        pod.annotations.retain(|(_, value)| *value != name);
        names.push(name);
    }
    assert_eq!(names, ["own", "coscheduling", "koordinator", "light", "volcano"]);
}

#[test]
fn native_groups_are_left_to_the_scheduler() {
    let mut pod = labelled(&[("scheduling.x-k8s.io/pod-group", "b"), ("stowage.dev/gang-size", "7")]);
    pod.native = Some("train-workers");
    assert_eq!(recognise(&pod, &Options::default()), Ok(Recognised::Native("train-workers".into())));
    // Our own key is a decision of the user against it.
    pod.labels.push(("stowage.dev/gang", "own"));
    assert_eq!(&*member(&pod).gang, "ml/own");
}

#[test]
fn koordinator_says_more() {
    let pod = annotated(&[
        ("gang.scheduling.koordinator.sh/name", "d"),
        ("gang.scheduling.koordinator.sh/min-available", "4"),
        ("gang.scheduling.koordinator.sh/total-number", "6"),
        ("gang.scheduling.koordinator.sh/mode", "NonStrict"),
        ("gang.scheduling.koordinator.sh/match-policy", "waiting-and-running"),
        ("gang.scheduling.koordinator.sh/waiting-time", "2000s"),
        ("gang.scheduling.koordinator.sh/groups", r#"["ml/e","ml/d","other/f"]"#),
    ]);
    let member = member(&pod);
    assert_eq!(member.total, Some(6));
    assert_eq!(member.mode, Mode::NonStrict);
    assert_eq!(member.match_policy, Some(MatchPolicy::WaitingAndRunning));
    assert_eq!((member.wait_seconds, member.wait_cut_from), (Some(900), Some(2000)));
    assert_eq!(member.together_with, ["ml/e".into(), "other/f".into()]);
}

#[test]
fn fewer_in_total_than_at_least_is_at_least() {
    let pod = annotated(&[
        ("gang.scheduling.koordinator.sh/name", "d"),
        ("gang.scheduling.koordinator.sh/min-available", "4"),
        ("gang.scheduling.koordinator.sh/total-number", "2"),
    ]);
    assert_eq!(member(&pod).total, Some(4));
}

#[test]
fn bad_values_name_gang_key_and_value() {
    assert_eq!(
        fault(&annotated(&[("stowage.dev/gang", "a"), ("stowage.dev/gang-min", "many")])),
        "gang ml/a: stowage.dev/gang-min is \"many\", allowed is a whole number from 1 to 100000"
    );
    let koordinator = |key, value| {
        fault(&annotated(&[("gang.scheduling.koordinator.sh/name", "d"), ("stowage.dev/gang-min", "2"), (key, value)]))
    };
    for (key, value) in [
        ("gang.scheduling.koordinator.sh/min-available", "0"),
        ("gang.scheduling.koordinator.sh/min-available", "-3"),
        ("gang.scheduling.koordinator.sh/total-number", "4294967296"),
        ("gang.scheduling.koordinator.sh/mode", "strict"),
        ("gang.scheduling.koordinator.sh/match-policy", "never"),
        ("gang.scheduling.koordinator.sh/waiting-time", "-5s"),
        ("gang.scheduling.koordinator.sh/groups", "ml/e"),
        ("gang.scheduling.koordinator.sh/groups", r#"["e"]"#),
        ("yunikorn.apache.org/task-groups", "[]"),
        ("yunikorn.apache.org/task-groups", r#"[{"name":"x"}]"#),
        ("stowage.dev/gang-startup", "sometimes"),
        // Though the size is known without them.
        ("leaderworkerset.sigs.k8s.io/size", "x"),
        ("stowage.dev/gang-size", "0"),
        ("kueue.x-k8s.io/pod-group-serving", "maybe"),
    ] {
        let fault = koordinator(key, value);
        assert!(fault.starts_with(&format!("gang ml/d: {key} is {value:?}")), "{fault}");
    }
    let long = fault(&annotated(&[
        ("stowage.dev/gang", "a"),
        (
            "stowage.dev/gang-min",
            concat!(
                "1111111111111111111111111111111111111111111111111111111111111111111111111111",
                "1111111111111111111111111111111111111111111111111111111111111111111111111111",
            ),
        ),
    ]));
    assert!(long.len() < 160, "{long}");
}

#[test]
fn impossible_names_come_with_their_key() {
    for (key, pod) in [
        ("stowage.dev/gang", annotated(&[("stowage.dev/gang", "q/r")])),
        ("gang.scheduling.koordinator.sh/name", annotated(&[("gang.scheduling.koordinator.sh/name", "q/r")])),
        (
            "yunikorn.apache.org/app-id",
            annotated(&[("yunikorn.apache.org/app-id", "q/r"), ("yunikorn.apache.org/task-group-name", "x")]),
        ),
        ("jobset.sigs.k8s.io/jobset-name", annotated(&[("jobset.sigs.k8s.io/jobset-name", "q/r")])),
    ] {
        assert_eq!(fault(&pod), format!("{key} is \"q/r\", allowed is a name without slashes"));
    }
}

#[test]
fn sizes_come_from_the_policy_document_last() {
    let options = Options { sizes: vec![("ml/bert".into(), 5), ("ml/gpt-*".into(), 8)], ..Options::default() };
    let of = |labels: &[(&'static str, &'static str)]| member_by(&labelled(labels), &options).min;
    assert_eq!(of(&[("scheduling.x-k8s.io/pod-group", "bert")]), Some(5));
    assert_eq!(of(&[("scheduling.x-k8s.io/pod-group", "gpt-large")]), Some(8));
    assert_eq!(of(&[("scheduling.x-k8s.io/pod-group", "other")]), None);
    assert_eq!(of(&[("scheduling.x-k8s.io/pod-group", "bert"), ("stowage.dev/gang-min", "3")]), Some(3));
    assert_eq!(of(&[("jobset.sigs.k8s.io/jobset-name", "bert")]), Some(5));
}

#[test]
fn sizes_from_the_environment_are_a_choice() {
    let mut pod =
        labelled(&[("training.kubeflow.org/job-name", "elastic"), ("training.kubeflow.org/replica-type", "worker")]);
    pod.environment = vec![("PET_NNODES", "2:4")];
    assert_eq!(recognise(&pod, &Options::default()), Ok(Recognised::Single));
    let options = Options { infer_size_from_env: true, ..Options::default() };
    let member = member_by(&pod, &options);
    assert_eq!((&*member.gang, member.min, member.total, &*member.role), ("ml/elastic", Some(2), Some(4), "worker"));
    pod.environment = vec![("PET_NNODES", "x")];
    let fault = recognise(&pod, &options).expect_err("a fault").to_string();
    assert_eq!(fault, "gang ml/elastic: PET_NNODES is \"x\", allowed is n or min:max");
}

#[test]
fn leaders_can_start_first() {
    let pod = labelled(&[
        ("scheduling.x-k8s.io/pod-group", "mpi"),
        ("stowage.dev/gang-size", "3"),
        ("training.kubeflow.org/replica-type", "launcher"),
    ]);
    let leader = member(&pod);
    assert!(leader.is_leader && leader.startup == Startup::Together);
    let options = Options { leader_first: vec!["ml/*".into()], ..Options::default() };
    assert_eq!(member_by(&pod, &options).startup, Startup::LeaderFirst);
    let worker = labelled(&[("stowage.dev/gang", "x"), ("stowage.dev/gang-role", "worker")]);
    assert!(!member(&worker).is_leader);
}

#[test]
fn excluded_roles_are_single() {
    let options = Options { excluded_roles: vec!["submitter".into()], ..Options::default() };
    let pod =
        labelled(&[("stowage.dev/gang", "ray"), ("stowage.dev/gang-min", "3"), ("stowage.dev/gang-role", "submitter")]);
    assert_eq!(recognise(&pod, &options), Ok(Recognised::Single));
}
