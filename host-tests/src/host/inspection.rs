//! What a module is to the stock host, also when that host would refuse it.

use wasmtime::{ExternType, FuncType, ImportType, Linker, Module, Store};

use super::call::{Shared, State};
use super::engine::PLAIN;
use super::exports::{Export, ExportSet};
use super::imports::{self, HOST_MODULES};
use super::module::{NO_MEMORY, compile, exports_memory};
use crate::framework::Interfaces;

/// Everything about a module that decides whether and how it runs.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Size of the file in bytes.
    pub size: usize,
    /// All exports with their types, in the module's order.
    pub exports: Vec<ExportInfo>,
    /// All imports, in the module's order.
    pub imports: Vec<ImportInfo>,
    /// Why the host would refuse the module, in its words; empty if it would not.
    pub refusals: Vec<String>,
    /// What would go wrong once it runs.
    pub warnings: Vec<String>,
    /// Whether one instance serves every cycle for ever, so that guest memory is shared state.
    pub keeps_one_instance: bool,
}

/// An export of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub signature: String,
    /// What the host does with it.
    pub role: Role,
}

/// What the host does with an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Calls it.
    Called,
    /// Would call it, but the scheduler does not see its extension point: `prescore` without `score`, for one.
    Masked,
    /// Would call it if it had the right signature.
    WrongSignature,
    /// Calls it once, at the start of an instance.
    Start,
    /// Reads and writes it.
    Memory,
    /// Nothing.
    Ignored,
}

/// An import of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportInfo {
    /// The host module.
    pub module: String,
    /// The function's name.
    pub name: String,
    /// Its type as the module wants it.
    pub signature: String,
    /// What the host has to say about it.
    pub offer: Offer,
}

/// Whether the stock host has an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// With this signature.
    Offered,
    /// Under another signature.
    OtherSignature(String),
    /// Not under this name.
    NoSuchName,
    /// Not even the host module.
    NoSuchModule,
}

impl Inspection {
    /// Looks at a module without running it.
    ///
    /// # Errors
    /// When the bytes are not a WebAssembly module that upstream's runtime compiles.
    pub fn of(bytes: &[u8]) -> anyhow::Result<Self> {
        let module = compile(&PLAIN, bytes)?;
        let imports = ImportInfo::all(&module, &imports::linker(&PLAIN));
        let detected = ExportSet::detect(&module);
        let calls = detected.as_ref().copied().unwrap_or_default();
        let interfaces = calls.interfaces();
        let exports = module.exports().map(|export| ExportInfo {
            name: export.name().to_owned(),
            signature: type_text(&export.ty()),
            role: role(export.name(), &export.ty(), interfaces.as_ref().ok()),
        });

        let mut refusals = Vec::new();
        if !exports_memory(&module) {
            refusals.push(NO_MEMORY.to_owned());
        }
        refusals.extend(imports.iter().filter_map(ImportInfo::fault));
        refusals.extend(detected.err().or_else(|| interfaces.as_ref().err().cloned()));

        Ok(Self {
            size: bytes.len(),
            exports: exports.collect(),
            warnings: warnings(&module, calls),
            imports,
            refusals,
            keeps_one_instance: calls.keeps_one_instance(),
        })
    }

    /// Whether the stock host would load the module.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.refusals.is_empty()
    }
}

fn role(name: &str, of: &ExternType, interfaces: Option<&Interfaces>) -> Role {
    let export = Export::ALL.into_iter().find(|export| export.name() == name);
    match (of, export) {
        (ExternType::Memory(_), _) if name == "memory" => Role::Memory,
        (ExternType::Func(_), None) if name == "_start" => Role::Start,
        (ExternType::Func(signature), Some(export)) if !export.answer().matches(signature) => Role::WrongSignature,
        (ExternType::Func(_), Some(export)) if interfaces.is_none_or(|seen| export.is_called(seen)) => Role::Called,
        (ExternType::Func(_), Some(_)) => Role::Masked,
        _ => Role::Ignored,
    }
}

fn warnings(module: &Module, calls: ExportSet) -> Vec<String> {
    let mut warnings = Vec::new();
    for (one, other) in [(Export::Reserve, Export::Unreserve), (Export::AddPod, Export::RemovePod)] {
        if calls.contains(one) != calls.contains(other) {
            let (has, lacks) = if calls.contains(one) { (one, other) } else { (other, one) };
            warnings.push(format!(
                "{} without {}: the scheduler crashes when it calls the missing one",
                has.name(),
                lacks.name()
            ));
        }
    }
    if calls.contains(Export::NormalizeScore) {
        warnings.push("normalizescore: the host hands its results to nodes in random order".to_owned());
    }
    if calls != ExportSet::default() && !calls.contains(Export::Enqueue) {
        warnings.push("no enqueue: every event retries a rejected pod, its own status updates included".to_owned());
    }
    let gives_back = calls.contains(Export::Bind) && calls.contains(Export::PostBind);
    if !calls.keeps_one_instance() && !gives_back {
        warnings
            .push("permit or bind without bind and postbind: every bound pod keeps an instance for ever".to_owned());
    }
    if module.get_export("_initialize").is_some() {
        warnings.push("_initialize: the host calls _start only".to_owned());
    }
    warnings
}

impl ImportInfo {
    /// The imports of `module` beside what the host has.
    pub(super) fn all(module: &Module, linker: &Linker<State>) -> Vec<Self> {
        let mut store = Store::new(module.engine(), State::new(Shared::default().into(), usize::MAX));
        module.imports().map(|import| Self::of(&import, linker, &mut store)).collect()
    }

    fn of(import: &ImportType<'_>, linker: &Linker<State>, store: &mut Store<State>) -> Self {
        let offer = match linker.get_by_import(&mut *store, import) {
            Some(offered) => match (offered.ty(&*store), import.ty()) {
                (ExternType::Func(offered), ExternType::Func(wanted)) if FuncType::eq(&offered, &wanted) => {
                    Offer::Offered
                }
                (offered, _) => Offer::OtherSignature(type_text(&offered)),
            },
            None if HOST_MODULES.contains(&import.module()) => Offer::NoSuchName,
            None => Offer::NoSuchModule,
        };
        Self {
            module: import.module().to_owned(),
            name: import.name().to_owned(),
            signature: type_text(&import.ty()),
            offer,
        }
    }

    /// Why the import keeps the module from loading, in upstream's words.
    pub(super) fn fault(&self) -> Option<String> {
        let Self { module, name, signature, offer } = self;
        match offer {
            Offer::Offered => None,
            Offer::OtherSignature(offered) => {
                Some(format!("import func[{module}.{name}]: signature mismatch: {signature} != {offered}"))
            }
            Offer::NoSuchName => Some(format!("{name:?} is not exported in module {module:?}")),
            Offer::NoSuchModule => Some(format!("module[{module}] not instantiated")),
        }
    }
}

fn type_text(of: &ExternType) -> String {
    match of {
        ExternType::Func(function) => {
            let list = |types: &mut dyn Iterator<Item = wasmtime::ValType>| {
                types.map(|of| of.to_string()).collect::<Vec<_>>().join(", ")
            };
            format!("({}) -> ({})", list(&mut function.params()), list(&mut function.results()))
        }
        ExternType::Memory(memory) => format!("memory of at least {} pages", memory.minimum()),
        ExternType::Global(_) => "global".to_owned(),
        ExternType::Table(_) => "table".to_owned(),
        _ => "other".to_owned(),
    }
}
