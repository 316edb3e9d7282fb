//! One instance of a module.

use std::rc::Rc;

use wasmtime::{Instance, Store, TypedFunc};

use super::call::{Call, Shared, State};
use super::engine::Limits;
use super::exports::{Answer, Export};
use super::fault::{self, Fault};
use super::module::Module;

/// An instance with a memory of its own. After a trap it is used again just as the trap left it: memory, globals and
/// the stack pointer among them.
pub(super) struct Guest {
    store: Store<State>,
    entries: [Option<Entry>; Export::ALL.len()],
    limits: Limits,
    metered: bool,
    /// Set once the guest has ended itself. Its code still runs when called, but every call fails.
    exit: Option<u32>,
}

enum Entry {
    Nothing(TypedFunc<(), ()>),
    I32(TypedFunc<(), i32>),
    I64(TypedFunc<(), i64>),
}

impl Guest {
    /// A new instance after its `_start`, if it has one. The number names it in messages.
    pub(super) fn new(module: &Module, shared: &Rc<Shared>, limits: Limits, number: u64) -> Result<Self, String> {
        let mut store = Store::new(module.instance.module().engine(), State::new(Rc::clone(shared), limits.memory));
        store.limiter(|state| &mut state.memory_limit);
        let mut guest =
            Self { store, entries: [const { None }; Export::ALL.len()], limits, metered: module.metered, exit: None };
        guest.arm();
        let failed =
            |guest: &Self, step: &str, error: &wasmtime::Error| guest.describe("instantiate", step, module, error);
        let instance = module.instance.instantiate(&mut guest.store).map_err(|error| failed(&guest, "", &error))?;
        if let Ok(start) = instance.get_typed_func::<(), ()>(&mut guest.store, "_start")
            && let Err(error) = start.call(&mut guest.store, ())
        {
            match error.downcast_ref() {
                // Upstream takes this for a success.
                Some(Fault::Exit(0)) => guest.exit = Some(0),
                Some(Fault::Exit(_)) => return Err(failed(&guest, "", &error)),
                _ => return Err(failed(&guest, &format!("module[{number}] function[_start] failed: "), &error)),
            }
        }
        guest.find_entries(&instance);
        guest.store.data_mut().output.clear();
        Ok(guest)
    }

    fn find_entries(&mut self, instance: &Instance) {
        self.store.data_mut().memory = instance.get_memory(&mut self.store, "memory");
        for export in Export::ALL {
            let name = export.name();
            let store = &mut self.store;
            self.entries[export as usize] = match export.answer() {
                Answer::Nothing => instance.get_typed_func(store, name).ok().map(Entry::Nothing),
                Answer::I32 => instance.get_typed_func(store, name).ok().map(Entry::I32),
                Answer::I64 => instance.get_typed_func(store, name).ok().map(Entry::I64),
            };
        }
    }

    /// Starts the clock and the fuel of a call.
    fn arm(&mut self) {
        self.store.set_epoch_deadline(self.limits.ticks());
        if self.metered {
            self.store.set_fuel(self.limits.fuel).expect("the engine of metered modules counts fuel");
        }
    }

    /// The call's parameters, empty, and its results afterwards.
    pub(super) fn call_data(&mut self) -> &mut Call {
        &mut self.store.data_mut().call
    }

    /// Calls the guest. An i32 answers in the low half; the error is what upstream would make the status' reason.
    pub(super) fn call(&mut self, export: Export, module: &Module) -> Result<u64, String> {
        self.arm();
        let answer = match &self.entries[export as usize] {
            Some(Entry::Nothing(function)) => function.call(&mut self.store, ()).map(|()| 0),
            Some(Entry::I32(function)) => function.call(&mut self.store, ()).map(|code| code.cast_unsigned().into()),
            Some(Entry::I64(function)) => function.call(&mut self.store, ()).map(i64::cast_unsigned),
            None => Err(Fault::panic("guest doesn't export it; the scheduler would crash")),
        };
        let answer = match (answer, self.exit) {
            (Ok(_), Some(code)) => Err(Fault::Exit(code).into()),
            (answer, _) => answer,
        };
        let answer = answer.map_err(|error| {
            if let Some(Fault::Exit(code)) = error.downcast_ref() {
                self.exit.get_or_insert(*code);
            }
            self.describe(export.name(), "", module, &error)
        });
        self.store.data_mut().output.clear();
        answer
    }

    /// The error with what the guest printed before it.
    fn describe(&self, name: &str, step: &str, module: &Module, error: &wasmtime::Error) -> String {
        let message = fault::message(error, &self.limits, &module.signatures);
        let output = &self.store.data().output;
        if output.is_empty() {
            return format!("wasm: {name} error: {step}{message}");
        }
        format!("wasm: {name} error: {}\n{step}{message}", String::from_utf8_lossy(output))
    }

    /// Fuel that the last call used; 0 for modules that are not metered.
    pub(super) fn fuel_used(&self) -> u64 {
        if self.metered { self.limits.fuel.saturating_sub(self.store.get_fuel().unwrap_or_default()) } else { 0 }
    }

    /// Bytes of guest memory.
    pub(super) fn memory_size(&self) -> usize {
        self.store.data().memory.map_or(0, |memory| memory.data_size(&self.store))
    }
}
