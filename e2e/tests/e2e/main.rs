//! Every case, on a control plane of its own.
//!
//! Cases run one after the other: two cores are just enough for one control plane. Without the programs that a case
//! needs it is reported as not run. Arguments that do not begin with a dash choose cases by parts of their names.

mod devices;
mod faults;
mod figures;
mod groups;
mod manifests;
mod publisher;
mod rbac;
mod scheduler;
mod usage;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use stowage_e2e::environment::Needs;

/// A case: its name, what it needs, and what it does in a folder of its own.
struct Case {
    name: &'static str,
    needs: Needs,
    /// Measures instead of testing, and takes minutes: run only if asked for by name.
    measures: bool,
    run: fn(PathBuf) -> Outcome,
}

/// A case under way.
type Outcome = Pin<Box<dyn Future<Output = Result<()>>>>;

macro_rules! cases {
    ($($needs:ident $(($kind:ident))? $module:ident::$name:ident,)*) => {
        &[$(Case {
            name: concat!(stringify!($module), "::", stringify!($name)),
            needs: Needs::$needs,
            measures: cases!(@ $($kind)?),
            run: |folder| Box::pin($module::$name(folder)),
        },)*]
    };
    (@ measures) => { true };
    (@) => { false };
}

const CASES: &[Case] = cases![
    ControlPlane publisher::recount_after_a_storm,
    ControlPlane publisher::repairs_what_others_edit,
    ControlPlane publisher::loses_nothing_with_the_api_server,
    ControlPlane publisher::hands_over_to_another_replica,
    ControlPlane faults::what_was_missed_is_listed_again,
    ControlPlane faults::a_storm_of_refusals_is_waited_out,
    ControlPlane faults::a_leader_that_stood_still_writes_no_more,
    ControlPlane faults::a_node_made_anew_is_another,
    ControlPlane faults::a_burst_is_published,
    ControlPlane usage::measured_usage_is_published,
    ControlPlane usage::koordinators_measurements_are_published,
    ControlPlane devices::free_gpus_are_published,
    ControlPlane groups::sizes_of_pod_groups_reach_their_pods,
    ControlPlane groups::deleted_members_are_told,
    ControlPlane rbac::the_publisher_works_with_exactly_its_role,
    ControlPlane rbac::the_scheduler_has_upstreams_roles_and_no_more,
    ControlPlane manifests::every_overlay_is_taken,
    ControlPlane manifests::every_example_is_taken,
    Scheduler scheduler::a_tf_job_is_packed,
    Scheduler scheduler::a_gang_is_complete_or_absent,
    Scheduler scheduler::a_deleted_member_is_not_counted_on,
    Scheduler scheduler::of_two_gangs_one_starts,
    Scheduler scheduler::a_hot_node_is_avoided,
    Scheduler scheduler::a_policy_changes_by_a_rolling_restart,
    Scheduler scheduler::a_gang_survives_its_scheduler,
    Scheduler scheduler::late_node_state_is_waited_for,
    ControlPlane(measures) figures::lag,
    ControlPlane(measures) figures::memory,
    Scheduler(measures) figures::gangs,
    Scheduler(measures) figures::throughput,
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let chosen = |case: &&Case| match &*wanted {
        [] => !case.measures,
        wanted => wanted.iter().any(|part| case.name.contains(&**part)),
    };
    let (mut run, mut failed, mut missing) = (0, 0, 0);
    for case in CASES.iter().filter(chosen) {
        if let Some(variable) = case.needs.missing() {
            missing += 1;
            println!("e2e {} ... not run: {variable} is not set", case.name);
            continue;
        }
        print!("e2e {} ... ", case.name);
        drop(std::io::stdout().flush());
        run += 1;
        let (start, folder) = (Instant::now(), folder(case.name));
        match execute(case, &folder) {
            Ok(()) => println!("ok ({:.1} s)", start.elapsed().as_secs_f64()),
            Err(error) => {
                failed += 1;
                let seconds = start.elapsed().as_secs_f64();
                println!("FAILED ({seconds:.1} s)\n    {error:#}\n    logs: {}", folder.display());
            }
        }
    }
    println!("e2e: {run} run, {failed} failed, {missing} not run");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where a case keeps its logs; they stay until it is run again.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e").join(name.replace("::", "-"))
}

fn execute(case: &Case, folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on((case.run)(folder.to_owned()))?;
    // The database is large and tells nothing that the logs do not.
    let database = folder.join("etcd");
    if database.exists() {
        std::fs::remove_dir_all(database)?;
    }
    Ok(())
}
