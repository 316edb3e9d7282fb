//! What a module exports, and which export sets the stock host takes.

use wasmtime::{ExternType, FuncType, ValType};

use crate::framework::Interfaces;

/// A function that the host calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Export {
    Enqueue,
    PreFilter,
    AddPod,
    RemovePod,
    Filter,
    PostFilter,
    PreScore,
    Score,
    NormalizeScore,
    Reserve,
    Unreserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
}

/// What an export answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    /// A status code.
    I32,
    /// A status code and a number.
    I64,
}

impl Export {
    /// Every export, in the order of a pod's way through the scheduler.
    pub const ALL: [Self; 15] = [
        Self::Enqueue,
        Self::PreFilter,
        Self::AddPod,
        Self::RemovePod,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::NormalizeScore,
        Self::Reserve,
        Self::Unreserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// The name in the module.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::PreFilter => "prefilter",
            Self::AddPod => "addpod",
            Self::RemovePod => "removepod",
            Self::Filter => "filter",
            Self::PostFilter => "postfilter",
            Self::PreScore => "prescore",
            Self::Score => "score",
            Self::NormalizeScore => "normalizescore",
            Self::Reserve => "reserve",
            Self::Unreserve => "unreserve",
            Self::Permit => "permit",
            Self::PreBind => "prebind",
            Self::Bind => "bind",
            Self::PostBind => "postbind",
        }
    }

    /// Whether the scheduler calls it, given the extension points that it sees.
    pub(super) fn is_called(self, interfaces: &Interfaces) -> bool {
        match self {
            Self::Enqueue | Self::PreFilter => true,
            Self::AddPod | Self::RemovePod => interfaces.pre_filter_extensions,
            Self::Filter => interfaces.filter,
            Self::PostFilter => interfaces.post_filter,
            Self::PreScore => interfaces.pre_score,
            Self::Score => interfaces.score,
            Self::NormalizeScore => interfaces.normalize_score,
            Self::Reserve | Self::Unreserve => interfaces.reserve,
            Self::Permit => interfaces.permit,
            Self::PreBind => interfaces.pre_bind,
            Self::Bind => interfaces.bind,
            Self::PostBind => interfaces.post_bind,
        }
    }

    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Enqueue | Self::Unreserve | Self::PostBind => Answer::Nothing,
            Self::PostFilter | Self::Score | Self::Permit => Answer::I64,
            _ => Answer::I32,
        }
    }
}

impl Answer {
    pub(super) fn matches(self, signature: &FuncType) -> bool {
        let mut results = signature.results();
        signature.params().len() == 0
            && match self {
                Self::Nothing => results.len() == 0,
                Self::I32 => results.len() == 1 && matches!(results.next(), Some(ValType::I32)),
                Self::I64 => results.len() == 1 && matches!(results.next(), Some(ValType::I64)),
            }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Nothing => "()",
            Self::I32 => "(i32)",
            Self::I64 => "(i64)",
        }
    }
}

/// A set of exports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportSet(u16);

const FILTER: u8 = 1;
const SCORE: u8 = 2;
const RESERVE: u8 = 4;
const PERMIT: u8 = 8;
const BIND: u8 = 16;

/// The sets that upstream made a Go type for. The other exports ride along with these or are ignored.
const ACCEPTED: [u8; 23] = [
    FILTER,
    SCORE,
    RESERVE,
    PERMIT,
    BIND,
    FILTER | SCORE,
    FILTER | RESERVE,
    FILTER | PERMIT,
    FILTER | BIND,
    SCORE | RESERVE,
    SCORE | PERMIT,
    SCORE | BIND,
    RESERVE | BIND,
    PERMIT | BIND,
    FILTER | SCORE | RESERVE,
    FILTER | SCORE | PERMIT,
    FILTER | SCORE | BIND,
    SCORE | RESERVE | BIND,
    SCORE | PERMIT | BIND,
    RESERVE | PERMIT | BIND,
    FILTER | SCORE | RESERVE | BIND,
    FILTER | SCORE | PERMIT | BIND,
    FILTER | SCORE | RESERVE | PERMIT | BIND,
];

impl ExportSet {
    /// The exports of `module` that the host calls.
    ///
    /// # Errors
    /// In upstream's words, when one has another signature or there is none.
    pub(super) fn detect(module: &wasmtime::Module) -> Result<Self, String> {
        let mut set = Self::default();
        for export in Export::ALL {
            let Some(ExternType::Func(signature)) = module.get_export(export.name()) else { continue };
            let answer = export.answer();
            if !answer.matches(&signature) {
                let (name, text) = (export.name(), answer.text());
                return Err(format!(
                    "wasm: guest exports the wrong signature for func[{name}]. should be () -> {text}"
                ));
            }
            set.0 |= 1 << export as u16;
        }
        if set == Self::default() {
            return Err("wasm: guest does not export any plugin functions".to_owned());
        }
        Ok(set)
    }

    /// Whether `export` is in the set.
    #[must_use]
    pub fn contains(self, export: Export) -> bool {
        self.0 & 1 << export as u16 != 0
    }

    /// The exports in the set.
    pub fn iter(self) -> impl Iterator<Item = Export> {
        Export::ALL.into_iter().filter(move |export| self.contains(*export))
    }

    fn main(self) -> u8 {
        let bit = |export, bit| if self.contains(export) { bit } else { 0 };
        bit(Export::Filter, FILTER)
            | bit(Export::Score, SCORE)
            | bit(Export::Reserve, RESERVE)
            | bit(Export::Unreserve, RESERVE)
            | bit(Export::Permit, PERMIT)
            | bit(Export::Bind, BIND)
    }

    /// The extension points that the scheduler sees for this set (upstream's `mask.go`).
    ///
    /// # Errors
    /// In upstream's words, when the set is not one of those that load.
    pub(super) fn interfaces(self) -> Result<Interfaces, String> {
        let main = self.main();
        let only_prefilter = self.0 == 1 << Export::PreFilter as u16;
        if !ACCEPTED.contains(&main) && !only_prefilter {
            return Err("wasm: filter, score, reserve, permit or bind must be exported".to_owned());
        }
        let has = |bit| main & bit != 0;
        Ok(Interfaces {
            pre_filter_extensions: self.contains(Export::AddPod) || self.contains(Export::RemovePod),
            filter: has(FILTER),
            post_filter: has(FILTER),
            pre_score: has(SCORE),
            score: has(SCORE),
            normalize_score: has(SCORE) && self.contains(Export::NormalizeScore),
            reserve: has(RESERVE),
            permit: has(PERMIT),
            pre_bind: has(BIND),
            bind: has(BIND),
            post_bind: has(BIND),
        })
    }

    /// Whether one instance serves every cycle for ever: only permit and the binding cycle move an instance away.
    #[must_use]
    pub fn keeps_one_instance(self) -> bool {
        self.main() & (PERMIT | BIND) == 0
    }
}
