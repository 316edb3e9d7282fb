//! The command line, as files of commands with the output that they should have.
//!
//! `tests/cli/*.trycmd` are run from the root of the workspace. `TRYCMD=overwrite` writes down what comes out now.

#[test]
fn commands_print_what_their_files_say() {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the workspace is there");
    // Where commands of the files write.
    std::fs::create_dir_all("target").expect("the workspace can be written to");
    trycmd::TestCases::new().env("NO_COLOR", "1").case("host-tests/tests/cli/*.trycmd");
}
