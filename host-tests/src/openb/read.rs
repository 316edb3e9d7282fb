//! Reads openb's node and pod lists.
//!
//! The files are plain comma-separated values without quotes; columns are found by their name in the first line, since the
//! multi-GPU lists leave some out.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use super::workload::Pod;

/// A GPU model, numbered in the order of first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model(pub u8);

/// A set of GPU models; `None` in a pod means any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Models(pub u64);

impl Models {
    /// Whether `model` is in the set.
    #[must_use]
    pub fn contains(self, model: Model) -> bool {
        self.0 & (1 << model.0) != 0
    }
}

/// One node of the node list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// Name of the node.
    pub name: String,
    /// Allocatable cpu in milli-CPU.
    pub cpu: i64,
    /// Allocatable memory in MiB.
    pub memory: i64,
    /// Number of GPUs.
    pub gpus: u32,
    /// Their model.
    pub model: Option<Model>,
}

/// A node list and a pod list.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The nodes, by name.
    pub nodes: Vec<NodeRow>,
    /// The pods, in the order of the file.
    pub pods: Vec<Pod>,
    /// Names of the models; [`Model`] is an index.
    pub models: Vec<String>,
}

impl Trace {
    /// GPU-milli of all nodes.
    #[must_use]
    pub fn gpu_milli(&self) -> i64 {
        self.nodes.iter().map(|node| i64::from(node.gpus) * 1000).sum()
    }

    fn model(&mut self, name: &str) -> Result<Model> {
        let index = match self.models.iter().position(|known| known == name) {
            Some(index) => index,
            None => {
                self.models.push(name.to_owned());
                self.models.len() - 1
            }
        };
        ensure!(index < 64, "{name:?} is the {}th GPU model; at most 64 are told apart", index + 1);
        Ok(Model(u8::try_from(index)?))
    }

    fn add_node(&mut self, row: &Row) -> Result<()> {
        let model = match row.text("model")? {
            "" => None,
            name => Some(self.model(name)?),
        };
        let gpus: u32 = row.number("gpu")?;
        ensure!(gpus <= 1024, "column gpu: {gpus} is more than one node can have");
        self.nodes.push(NodeRow {
            name: row.text("sn")?.to_owned(),
            cpu: row.amount("cpu_milli")?,
            memory: row.amount("memory_mib")?,
            gpus,
            model,
        });
        Ok(())
    }

    fn add_pod(&mut self, row: &Row) -> Result<()> {
        let mut models = Models::default();
        for name in row.optional("gpu_spec").split('|').filter(|name| !name.is_empty()) {
            models.0 |= 1 << self.model(name)?.0;
        }
        let gpus: u32 = row.number("num_gpu")?;
        let milli: u32 = if gpus == 0 { 0 } else { row.number("gpu_milli")? };
        ensure!(
            milli <= 1000,
            "column gpu_milli: {milli} is more than one GPU; it is the share of each GPU, at most 1000"
        );
        ensure!(gpus == 0 || milli > 0, "column gpu_milli: 0 of {gpus} GPUs");
        ensure!(
            gpus < 2 || milli == 1000,
            "column gpu_milli: {milli} of each of {gpus} GPUs; only one GPU can be shared"
        );
        self.pods.push(Pod {
            name: row.text("name")?.to_owned(),
            cpu: row.amount("cpu_milli")?,
            memory: row.amount("memory_mib")?,
            gpus,
            milli,
            models: (models.0 != 0).then_some(models),
            gpu_spec: row.optional("gpu_spec").to_owned(),
            shape: 0,
        });
        Ok(())
    }
}

/// Reads a node list and a pod list.
///
/// # Errors
/// If a file cannot be read or a line is wrong; the message names file, line and column.
pub fn read(nodes: &Path, pods: &Path) -> Result<Trace> {
    let mut trace = Trace::default();
    each_row(nodes, |row| trace.add_node(row))?;
    ensure!(!trace.nodes.is_empty(), "{}: no nodes", nodes.display());
    trace.nodes.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = trace.nodes.windows(2).find(|pair| pair[0].name == pair[1].name) {
        bail!("{}: two nodes are called {:?}", nodes.display(), pair[0].name);
    }
    each_row(pods, |row| trace.add_pod(row))?;
    ensure!(!trace.pods.is_empty(), "{}: no pods", pods.display());
    super::workload::number_shapes(&mut trace.pods);
    Ok(trace)
}

fn each_row(path: &Path, mut each: impl FnMut(&Row) -> Result<()>) -> Result<()> {
    let source = crate::load::read(path)?;
    let mut lines = source.text().lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        bail!("{}: empty; the first line must name the columns", path.display());
    };
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    for (index, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let row = Row { columns: &columns, fields: &fields };
        let at = || format!("{}:{}", path.display(), index + 1);
        if fields.len() != columns.len() {
            return Err(anyhow::anyhow!("{} fields, but {} columns", fields.len(), columns.len()).context(at()));
        }
        each(&row).with_context(at)?;
    }
    Ok(())
}

struct Row<'a> {
    columns: &'a [&'a str],
    fields: &'a [&'a str],
}

impl<'a> Row<'a> {
    fn find(&self, column: &str) -> Option<&'a str> {
        let index = self.columns.iter().position(|known| *known == column)?;
        self.fields.get(index).copied()
    }

    fn optional(&self, column: &str) -> &'a str {
        self.find(column).unwrap_or_default()
    }

    fn text(&self, column: &str) -> Result<&'a str> {
        self.find(column).with_context(|| format!("no column {column}"))
    }

    fn number<T: FromStr>(&self, column: &str) -> Result<T> {
        let text = self.text(column)?;
        text.parse().ok().with_context(|| format!("column {column}: {text:?} is not a whole number in range"))
    }

    /// A non-negative amount that sums over a whole trace without overflow.
    fn amount(&self, column: &str) -> Result<i64> {
        self.number::<u32>(column).map(i64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, each: impl FnMut(&Row) -> Result<()>) -> String {
        let dir = std::env::temp_dir().join(format!("stowage-openb-{:x}", text.len() ^ std::process::id() as usize));
        std::fs::write(&dir, text).unwrap();
        let result = each_row(&dir, each);
        std::fs::remove_file(&dir).unwrap();
        result.map_or_else(|error| format!("{error:#}"), |()| String::new())
    }

    #[test]
    fn faults_name_the_line_and_the_column() {
        let mut trace = Trace::default();
        let mut pod = |line: &str| {
            let fault =
                rows(&format!("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n{line}\n"), |row| trace.add_pod(row));
            fault.split_once(":2: ").map(|(_, rest)| rest.to_owned()).unwrap_or(fault)
        };
        assert_eq!(pod("a,1,1,1,500"), "");
        assert_eq!(pod("a,1,1,1"), "4 fields, but 5 columns");
        assert_eq!(pod("a,x,1,1,500"), "column cpu_milli: \"x\" is not a whole number in range");
        assert_eq!(pod("a,-1,1,1,500"), "column cpu_milli: \"-1\" is not a whole number in range");
        assert!(pod("a,1,1,2,500").contains("only one GPU can be shared"));
        assert!(pod("a,1,1,1,2000").contains("at most 1000"));
        assert!(rows("name\na\n", |row| trace.add_pod(row)).ends_with("no column num_gpu"));
    }

    #[test]
    fn models_are_numbered_and_restrict() {
        let mut trace = Trace::default();
        let text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,1000,V100|T4\nb,1,1,1,1000,\nc,1,1,1,1000,T4\n";
        assert_eq!(rows(text, |row| trace.add_pod(row)), "");
        assert_eq!(trace.models, ["V100", "T4"]);
        assert_eq!(
            trace.pods.iter().map(|pod| pod.models.map(|set| set.0)).collect::<Vec<_>>(),
            [Some(3), None, Some(2)]
        );
    }
}
