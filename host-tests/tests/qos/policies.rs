//! The policies to start from, as `stowage check` sees them. Scenarios named qos-policy-* and qos-colocation run them.

use std::path::Path;
use std::process::Command;

fn check(file: &Path) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_stowage")).arg("check").arg(file).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

#[test]
fn policies_to_start_from_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/policies");
    let mut checked = 0;
    for entry in folder.read_dir().expect("the folder") {
        let file = entry.expect("an entry").path();
        if file.extension().is_some_and(|extension| extension == "json") {
            let (code, text) = check(&file);
            assert_eq!(code, Some(0), "{}: {text}", file.display());
            checked += 1;
        }
    }
    assert_eq!(checked, 3);
}

#[test]
fn a_threshold_above_the_point_of_eviction_is_a_fault() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evicting.json");
    let policy = r#"{"qos": {"evictionWatermarks": {"memory": 65},
  "classes": {"BE": {"usageThresholds": {"memory": 70}}}}}"#;
    std::fs::write(&file, policy).expect("it is written");
    let (code, text) = check(&file);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("qos.classes.BE.usageThresholds.memory"), "{text}");
    assert!(text.contains("above the eviction watermark 65 less the margin 5"), "{text}");
}
