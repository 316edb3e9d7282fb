//! The trace and the published figures, for the tests that replay it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use stowage_host::openb::{Trace, read};

/// By workload, policy and percent of arrived demand.
pub type Table = BTreeMap<String, BTreeMap<String, BTreeMap<String, Cell>>>;

#[derive(Deserialize)]
pub struct Cell {
    pub mean: f64,
}

/// The published table.
pub fn published() -> Table {
    #[derive(Deserialize)]
    struct Published {
        table: Table,
    }
    let text = std::fs::read_to_string(data("fgd_expected_allocation.json")).expect("the table is there");
    serde_json::from_str::<Published>(&text).expect("the table is JSON").table
}

/// The GPU nodes with one of the pod lists.
pub fn workload(name: &str) -> Trace {
    read(&data("openb_node_list_gpu_node.csv"), &data(&format!("{name}.csv"))).expect("the trace is there")
}

/// A file of the trace.
pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/openb").join(name)
}
