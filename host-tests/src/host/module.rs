//! A module that the stock host takes.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use wasmparser::{FuncType, Parser, Payload, TypeRef};
use wasmtime::{Engine, ExternType, InstancePre};

use super::call::State;
use super::engine::{METERED, PLAIN};
use super::exports::ExportSet;
use super::imports;
use super::inspection::ImportInfo;
use crate::framework::Interfaces;

/// A compiled module whose exports and imports fit the stock host. Cheap to clone.
#[derive(Clone)]
pub struct Module {
    pub(super) instance: InstancePre<State>,
    pub(super) exports: ExportSet,
    pub(super) interfaces: Interfaces,
    pub(super) signatures: Arc<Signatures>,
    pub(super) metered: bool,
    builtin: bool,
}

impl Module {
    /// Reads and compiles the file.
    ///
    /// # Errors
    /// When the file cannot be read, is not WebAssembly, or is a module that upstream would refuse; in the last case in
    /// upstream's words.
    pub fn load(path: impl AsRef<Path>) -> anyhow::Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::from_bytes(&bytes).with_context(|| path.display().to_string())
    }

    /// Compiles a module.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_bytes(bytes: &[u8]) -> anyhow::Result<Self> {
        Self::compile(&PLAIN, bytes, false)
    }

    /// Compiles a module that counts the fuel of its calls, at a good part of its speed.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn metered_from_bytes(bytes: &[u8]) -> anyhow::Result<Self> {
        Self::compile(&METERED, bytes, true)
    }

    fn compile(engine: &Engine, bytes: &[u8], metered: bool) -> anyhow::Result<Self> {
        let module = compile(engine, bytes)?;
        if !exports_memory(&module) {
            bail!(NO_MEMORY);
        }
        let exports = ExportSet::detect(&module).map_err(anyhow::Error::msg)?;
        let linker = imports::linker(engine);
        for import in ImportInfo::all(&module, &linker) {
            if let Some(fault) = import.fault() {
                bail!("failed to create a guest pool: wasm: instantiate error: {fault}");
            }
        }
        let interfaces = exports.interfaces().map_err(anyhow::Error::msg)?;
        let instance = linker.instantiate_pre(&module).map_err(|error| anyhow!("{error:#}"))?;
        Ok(Self {
            instance,
            exports,
            interfaces,
            signatures: Arc::new(Signatures::read(bytes)),
            metered,
            builtin: bytes == crate::builtin_module(),
        })
    }

    /// Whether it is the one that was built with this program, whose policies can be judged without running it.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.builtin
    }

    /// What the module exports.
    #[must_use]
    pub fn exports(&self) -> ExportSet {
        self.exports
    }

    /// The extension points that the scheduler sees.
    #[must_use]
    pub fn interfaces(&self) -> Interfaces {
        self.interfaces
    }
}

pub(super) const NO_MEMORY: &str = "wasm: guest doesn't export memory[memory]";

/// Compiles whatever is WebAssembly. What does not begin like it is refused in the words of upstream's runtime.
pub(super) fn compile(engine: &Engine, bytes: &[u8]) -> anyhow::Result<wasmtime::Module> {
    match bytes.strip_prefix(b"\0asm") {
        None => bail!("wasm: error compiling guest: invalid magic number"),
        Some(rest) if !rest.starts_with(&1_u32.to_le_bytes()) => {
            bail!("wasm: error compiling guest: invalid version header")
        }
        Some(_) => {}
    }
    wasmtime::Module::from_binary(engine, bytes).map_err(|error| anyhow!("wasm: error compiling guest: {error:#}"))
}

pub(super) fn exports_memory(module: &wasmtime::Module) -> bool {
    matches!(module.get_export("memory"), Some(ExternType::Memory(_)))
}

/// How functions look in a stack trace of upstream's runtime: `(i32,i32) i32`.
#[derive(Default)]
pub(super) struct Signatures {
    types: Vec<String>,
    /// Type of each function, imported ones first.
    functions: Vec<u32>,
}

impl Signatures {
    /// Reads what the sections of a valid module say.
    fn read(bytes: &[u8]) -> Self {
        let mut signatures = Self::default();
        for payload in Parser::new(0).parse_all(bytes).map_while(Result::ok) {
            match payload {
                Payload::TypeSection(types) => {
                    signatures.types = types.into_iter_err_on_gc_types().map_while(Result::ok).map(trace).collect();
                }
                Payload::ImportSection(imports) => {
                    let types = imports.into_imports().map_while(Result::ok).filter_map(|import| match import.ty {
                        TypeRef::Func(function) => Some(function),
                        _ => None,
                    });
                    signatures.functions.extend(types);
                }
                Payload::FunctionSection(functions) => {
                    signatures.functions.extend(functions.into_iter().map_while(Result::ok));
                }
                _ => {}
            }
        }
        signatures
    }

    pub(super) fn of(&self, function: u32) -> &str {
        let of_function = self.functions.get(function as usize).and_then(|of| self.types.get(*of as usize));
        of_function.map_or("()", String::as_str)
    }
}

fn trace(signature: FuncType) -> String {
    let join = |types: &[wasmparser::ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    match signature.results() {
        [] => format!("({})", join(signature.params())),
        [one] => format!("({}) {one}", join(signature.params())),
        several => format!("({}) ({})", join(signature.params()), join(several)),
    }
}
