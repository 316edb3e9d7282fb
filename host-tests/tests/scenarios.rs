//! Every scenario and example, on the module built from this tree.

use std::path::Path;

use stowage_host::scenario;
use stowage_host::trial::load_module;

/// Also what `stowage test host-tests/scenarios examples` does.
#[test]
fn scenarios_and_examples_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let module = load_module(None).unwrap();
    let mut cases = scenario::find(&root.join("scenarios")).unwrap();
    cases.extend(scenario::find(&root.join("../examples")).unwrap());
    let mut failures = Vec::new();
    for case in &cases {
        match scenario::run(case, &module, scenario::Goldens::from_environment()) {
            Ok(report) => {
                failures.extend(report.failures.iter().map(|failure| format!("{}: {failure}", case.display())))
            }
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    assert!(failures.is_empty(), "{} cases, but\n{}", cases.len(), failures.join("\n"));
}
