//! The `stowage` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    stowage_host::command::main()
}
