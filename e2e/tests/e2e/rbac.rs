//! What the two service accounts may do.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authorization::v1::{SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Client;
use kube::api::{Api, PostParams};
use stowage_e2e::control_plane::{ControlPlane, User};
use stowage_e2e::objects::PodSpec;
use stowage_e2e::publisher::Publisher;
use stowage_e2e::{recount, wait};

use super::publisher::cluster;

/// A verb on a resource of a group, perhaps of one name only.
type Rule = (String, String, String, Option<String>);

/// The publisher's account may do what its two roles say, and that is enough. (Every case here runs it as that account.)
pub async fn the_publisher_works_with_exactly_its_role(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 2, 8).await?;
    let role = Api::<ClusterRole>::all(cluster.client.clone()).get("stowage-publisher").await?;
    let lease = Api::<Role>::namespaced(cluster.client.clone(), "stowage-system").get("stowage-publisher").await?;
    let expected = rules([role.rules, lease.rules].into_iter().flatten().flatten());
    let allowed = allowed(&plane, User::Publisher).await?;
    ensure!(allowed == expected, "it may do {allowed:#?}, its roles say {expected:#?}");

    let mut publisher = Publisher::start(&plane, "publisher")?;
    cluster.create_pod(&PodSpec::with_gpus("pod", 1)).await?;
    cluster.bind("pod", "node-0").await?;
    wait::until("the pod is published", async || recount::compare(&cluster).await).await?;
    wait::until("it says that it leads", async || {
        ensure!(publisher.metric("leader")? == 1.0, "it does not");
        Ok(())
    })
    .await?;
    let log = publisher.process.log();
    ensure!(!log.to_lowercase().contains("forbidden"), "something it does is forbidden:\n{log}");
    Ok(())
}

/// The scheduler's account may do what the default scheduler may.
pub async fn the_scheduler_has_upstreams_roles_and_no_more(folder: PathBuf) -> Result<()> {
    let (plane, cluster) = cluster(&folder, 0, 0).await?;
    let roles = Api::<ClusterRole>::all(cluster.client.clone());
    let mut expected = BTreeSet::new();
    for role in ["system:kube-scheduler", "system:volume-scheduler"] {
        expected.extend(rules(roles.get(role).await?.rules.into_iter().flatten()));
    }
    let allowed = allowed(&plane, User::Scheduler).await?;
    ensure!(allowed == expected, "it may do {allowed:#?}, upstream's roles say {expected:#?}");
    Ok(())
}

fn rules(rules: impl IntoIterator<Item = PolicyRule>) -> BTreeSet<Rule> {
    rules.into_iter().flat_map(single).collect()
}

/// A rule, verb by verb and resource by resource.
fn single(rule: PolicyRule) -> Vec<Rule> {
    let (groups, resources, verbs) = (rule.api_groups, rule.resources, rule.verbs);
    let names: Vec<Option<String>> = match rule.resource_names.unwrap_or_default() {
        names if names.is_empty() => vec![None],
        names => names.into_iter().map(Some).collect(),
    };
    let mut rules = Vec::new();
    for group in groups.iter().flatten() {
        for resource in resources.iter().flatten() {
            for verb in &verbs {
                let rule = |name: &Option<String>| (group.clone(), resource.clone(), verb.clone(), name.clone());
                rules.extend(names.iter().map(rule));
            }
        }
    }
    rules
}

/// What a user may do in the namespace `stowage-system`, apart from what every user may: ask who it is and what it may.
async fn allowed(plane: &ControlPlane, user: User) -> Result<BTreeSet<Rule>> {
    const EVERYBODY: [&str; 3] = ["selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"];
    let mut rules = review(&plane.client(user).await?).await?;
    rules.retain(|(_, resource, ..)| !EVERYBODY.contains(&&**resource));
    Ok(rules)
}

async fn review(client: &Client) -> Result<BTreeSet<Rule>> {
    let spec = SelfSubjectRulesReviewSpec { namespace: Some("stowage-system".to_owned()) };
    let review = SelfSubjectRulesReview { spec, ..SelfSubjectRulesReview::default() };
    let reviews = Api::<SelfSubjectRulesReview>::all(client.clone());
    let status = reviews.create(&PostParams::default(), &review).await?.status.context("no status")?;
    ensure!(!status.incomplete, "the API server does not know everything");
    Ok(rules(status.resource_rules.into_iter().map(|rule| PolicyRule {
        api_groups: rule.api_groups,
        resources: rule.resources,
        resource_names: rule.resource_names,
        verbs: rule.verbs,
        ..PolicyRule::default()
    })))
}
