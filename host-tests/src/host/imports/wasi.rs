//! WASI preview 1 as upstream's runtime offers it by default: nothing of the machine gets through.
//!
//! Clocks tick by 1 ms per reading, from 2022-01-01 for wall time and from 0 for the monotonic one. Random bytes are
//! the same in every instance (though not the very bytes that Go's generator would give). Sleeping takes no time.
//! There are no environment and no files; standard input is empty.

use wasmtime::{Caller, Linker};

use super::memory::{Result, range, range_mut, split, write};
use crate::host::call::State;
use crate::host::fault::Fault;

pub(super) const MODULE: &str = "wasi_snapshot_preview1";

const SUCCESS: u32 = 0;
const BADF: u32 = 8;
const FAULT: u32 = 21;
const INVAL: u32 = 28;
const NOSYS: u32 = 52;
const NOTSUP: u32 = 58;

const MILLISECOND: u64 = 1_000_000;

/// The clocks and the random source of one instance.
#[derive(Debug)]
pub(in crate::host) struct Wasi {
    /// Nanoseconds since 1970 at the next reading.
    realtime: u64,
    /// Nanoseconds at the next reading.
    monotonic: u64,
    random: u64,
}

impl Default for Wasi {
    fn default() -> Self {
        Self { realtime: 1_640_995_200_000 * MILLISECOND, monotonic: 0, random: 42 }
    }
}

impl Wasi {
    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The error number of an outcome that can only fail for lack of memory to read or write.
fn errno(done: Option<()>) -> u32 {
    if done.is_some() { SUCCESS } else { FAULT }
}

pub(super) fn define(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(MODULE, "args_sizes_get", args_sizes_get)?;
    linker.func_wrap(MODULE, "args_get", args_get)?;
    linker.func_wrap(MODULE, "environ_sizes_get", environ_sizes_get)?;
    linker.func_wrap(MODULE, "environ_get", |_: u32, _: u32| SUCCESS)?;
    linker.func_wrap(MODULE, "clock_res_get", clock_res_get)?;
    linker.func_wrap(MODULE, "clock_time_get", clock_time_get)?;
    linker.func_wrap(MODULE, "random_get", random_get)?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    linker.func_wrap(MODULE, "poll_oneoff", poll_oneoff)?;
    linker.func_wrap(MODULE, "proc_exit", |code: u32| -> Result<()> { Err(Fault::Exit(code).into()) })?;
    linker.func_wrap(MODULE, "proc_raise", |_: u32| NOSYS)?;
    linker.func_wrap(MODULE, "fd_write", fd_write)?;
    linker.func_wrap(MODULE, "fd_read", fd_read)?;
    linker.func_wrap(MODULE, "fd_fdstat_get", fd_fdstat_get)?;
    linker.func_wrap(MODULE, "fd_close", |fd: u32| if is_standard(fd) { SUCCESS } else { BADF })?;
    define_files(linker)
}

/// Everything else about files and sockets: there are none.
fn define_files(linker: &mut Linker<State>) -> Result<()> {
    macro_rules! bad_descriptor {
        ($($name:literal($($parameter:ty),*))*) => {
            $(linker.func_wrap(MODULE, $name, |$(_: $parameter),*| BADF)?;)*
        };
    }
    bad_descriptor! {
        "fd_advise"(u32, u64, u64, u32)
        "fd_allocate"(u32, u64, u64)
        "fd_datasync"(u32)
        "fd_fdstat_set_flags"(u32, u32)
        "fd_fdstat_set_rights"(u32, u64, u64)
        "fd_filestat_get"(u32, u32)
        "fd_filestat_set_size"(u32, u64)
        "fd_filestat_set_times"(u32, u64, u64, u32)
        "fd_pread"(u32, u32, u32, u64, u32)
        "fd_prestat_dir_name"(u32, u32, u32)
        "fd_prestat_get"(u32, u32)
        "fd_pwrite"(u32, u32, u32, u64, u32)
        "fd_readdir"(u32, u32, u32, u64, u32)
        "fd_renumber"(u32, u32)
        "fd_seek"(u32, u64, u32, u32)
        "fd_sync"(u32)
        "fd_tell"(u32, u32)
        "path_create_directory"(u32, u32, u32)
        "path_filestat_get"(u32, u32, u32, u32, u32)
        "path_filestat_set_times"(u32, u32, u32, u32, u64, u64, u32)
        "path_link"(u32, u32, u32, u32, u32, u32, u32)
        "path_open"(u32, u32, u32, u32, u32, u64, u64, u32, u32)
        "path_readlink"(u32, u32, u32, u32, u32, u32)
        "path_remove_directory"(u32, u32, u32)
        "path_rename"(u32, u32, u32, u32, u32, u32)
        "path_symlink"(u32, u32, u32, u32, u32)
        "path_unlink_file"(u32, u32, u32)
        "sock_accept"(u32, u32, u32)
        "sock_recv"(u32, u32, u32, u32, u32, u32)
        "sock_send"(u32, u32, u32, u32, u32)
        "sock_shutdown"(u32, u32)
    }
    Ok(())
}

fn is_standard(fd: u32) -> bool {
    fd <= 2
}

fn args_sizes_get(mut caller: Caller<'_, State>, count: u32, size: u32) -> Result<u32> {
    let (memory, state) = split(&mut caller)?;
    let args = &state.shared.args;
    let bytes: usize = args.iter().map(|arg| arg.len() + 1).sum();
    let counted = write(memory, count, &(args.len() as u32).to_le_bytes());
    Ok(errno(counted.and_then(|()| write(memory, size, &(bytes as u32).to_le_bytes()))))
}

fn args_get(mut caller: Caller<'_, State>, mut pointers: u32, mut bytes: u32) -> Result<u32> {
    let (memory, state) = split(&mut caller)?;
    for arg in &state.shared.args {
        let text = [arg.as_bytes(), b"\0"].concat();
        let pointed = write(memory, pointers, &bytes.to_le_bytes());
        if pointed.and_then(|()| write(memory, bytes, &text)).is_none() {
            return Ok(FAULT);
        }
        pointers = pointers.wrapping_add(4);
        bytes = bytes.wrapping_add(text.len() as u32);
    }
    Ok(SUCCESS)
}

fn environ_sizes_get(mut caller: Caller<'_, State>, count: u32, size: u32) -> Result<u32> {
    let (memory, _) = split(&mut caller)?;
    Ok(errno(write(memory, count, &[0; 4]).and_then(|()| write(memory, size, &[0; 4]))))
}

fn clock_res_get(mut caller: Caller<'_, State>, clock: u32, out: u32) -> Result<u32> {
    let (memory, _) = split(&mut caller)?;
    let resolution: u64 = match clock {
        0 => 1_000,
        1 => 1,
        _ => return Ok(INVAL),
    };
    Ok(errno(write(memory, out, &resolution.to_le_bytes())))
}

fn clock_time_get(mut caller: Caller<'_, State>, clock: u32, _precision: u64, out: u32) -> Result<u32> {
    let (memory, state) = split(&mut caller)?;
    let clock = match clock {
        0 => &mut state.wasi.realtime,
        1 => &mut state.wasi.monotonic,
        _ => return Ok(INVAL),
    };
    let now = *clock;
    *clock += MILLISECOND;
    Ok(errno(write(memory, out, &now.to_le_bytes())))
}

fn random_get(mut caller: Caller<'_, State>, buf: u32, length: u32) -> Result<u32> {
    let (memory, state) = split(&mut caller)?;
    let Some(buffer) = range_mut(memory, buf, length) else { return Ok(FAULT) };
    for chunk in buffer.chunks_mut(8) {
        chunk.copy_from_slice(&state.wasi.random().to_le_bytes()[..chunk.len()]);
    }
    Ok(SUCCESS)
}

fn word(memory: &[u8], start: u32) -> Option<u32> {
    Some(u32::from_le_bytes(range(memory, start, 4)?.try_into().ok()?))
}

/// Output of both streams lands in one place, as upstream shows it.
fn fd_write(mut caller: Caller<'_, State>, fd: u32, vectors: u32, count: u32, written: u32) -> Result<u32> {
    if fd != 1 && fd != 2 {
        return Ok(BADF);
    }
    let (memory, state) = split(&mut caller)?;
    let mut total = 0_u32;
    for index in 0..count {
        let vector = vectors.wrapping_add(index.wrapping_mul(8));
        let bytes = word(memory, vector).zip(word(memory, vector.wrapping_add(4)));
        let Some(bytes) = bytes.and_then(|(start, length)| range(memory, start, length)) else { return Ok(FAULT) };
        state.print(bytes);
        total = total.wrapping_add(bytes.len() as u32);
    }
    Ok(errno(write(memory, written, &total.to_le_bytes())))
}

fn fd_read(mut caller: Caller<'_, State>, fd: u32, _vectors: u32, _count: u32, read: u32) -> Result<u32> {
    if fd != 0 {
        return Ok(BADF);
    }
    let (memory, _) = split(&mut caller)?;
    Ok(errno(write(memory, read, &[0; 4])))
}

fn fd_fdstat_get(mut caller: Caller<'_, State>, fd: u32, out: u32) -> Result<u32> {
    const BLOCK_DEVICE: u8 = 1;
    const FILE_RIGHTS: u32 = 0x08e0_01ff;
    if !is_standard(fd) {
        return Ok(BADF);
    }
    let (memory, _) = split(&mut caller)?;
    let mut stat = [0; 24];
    stat[0] = BLOCK_DEVICE;
    stat[8..12].copy_from_slice(&FILE_RIGHTS.to_le_bytes());
    Ok(errno(write(memory, out, &stat)))
}

/// Every subscription is ready at once: this is how guests sleep.
fn poll_oneoff(mut caller: Caller<'_, State>, subscriptions: u32, out: u32, count: u32, ready: u32) -> Result<u32> {
    const SUBSCRIPTION: u32 = 48;
    const EVENT: u32 = 32;
    let (memory, _) = split(&mut caller)?;
    if count == 0 {
        return Ok(INVAL);
    }
    for index in 0..count {
        let start = subscriptions.wrapping_add(index.wrapping_mul(SUBSCRIPTION));
        let Some(subscription) = range(memory, start, SUBSCRIPTION) else { return Ok(FAULT) };
        let kind = subscription[8];
        let absolute = kind == 0 && subscription[40] & 1 == 1;
        if absolute {
            return Ok(NOTSUP);
        }
        let mut event = [0; EVENT as usize];
        event[..8].copy_from_slice(&subscription[..8]);
        event[10] = kind;
        if write(memory, out.wrapping_add(index.wrapping_mul(EVENT)), &event).is_none() {
            return Ok(FAULT);
        }
    }
    Ok(errno(write(memory, ready, &count.to_le_bytes())))
}
