//! The module's memory: free lists by size.
//!
//! A general allocator takes seven kilobytes of the module (dlmalloc) or looks through one long list (the small ones).
//! Here a block comes from the list of its size, else from the end of memory, and goes back to that list; blocks are
//! neither split nor joined. What the module keeps is bounded, so the lists fill once and memory stops growing.
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr::{null_mut, with_exposed_provenance_mut};

/// Blocks are multiples of this, and aligned to it.
const UNIT: usize = 16;
/// Sizes of blocks: four between a power of two and the next, up to 1 GiB.
const CLASSES: usize = 108;
const PAGE: usize = 64 << 10;

/// The size class of blocks that hold `size` bytes, and how large they are.
fn class(size: usize) -> (usize, usize) {
    let last = size.wrapping_sub(1) | UNIT.wrapping_sub(1);
    let shift = last.ilog2().wrapping_sub(2);
    let quarter = last.wrapping_shr(shift) & 3;
    let class = (shift as usize).wrapping_sub(1).wrapping_mul(4).wrapping_add(quarter);
    (class, quarter.wrapping_add(5).wrapping_shl(shift))
}

/// The allocator, over memory that grows at its end.
pub struct Memory {
    /// Adds pages; answers the address where they start, or `None` if there are no more.
    grow: fn(usize) -> Option<usize>,
    /// The first free block of each class, which holds the address of the next.
    free: [Cell<*mut u8>; CLASSES],
    /// What is left of the pages taken last.
    next: Cell<usize>,
    end: Cell<usize>,
}

// SAFETY: the module has one thread.
unsafe impl Sync for Memory {}

impl Memory {
    /// An allocator that has nothing yet.
    pub const fn new(grow: fn(usize) -> Option<usize>) -> Self {
        Self { grow, free: [const { Cell::new(null_mut()) }; CLASSES], next: Cell::new(0), end: Cell::new(0) }
    }

    /// A new block; null if there is no more memory.
    fn carve(&self, block: usize) -> *mut u8 {
        if self.end.get().wrapping_sub(self.next.get()) < block {
            let pages = block.div_ceil(PAGE);
            let Some(start) = (self.grow)(pages) else { return null_mut() };
            // Someone else may have taken pages meanwhile; then the rest of the last ones is lost.
            if start != self.end.get() {
                self.next.set(start);
            }
            self.end.set(start.wrapping_add(pages.wrapping_mul(PAGE)));
        }
        let at = self.next.get();
        self.next.set(at.wrapping_add(block));
        with_exposed_provenance_mut(at)
    }
}

// SAFETY: a block is handed out once until it comes back, is at least as large as asked, and aligned to `UNIT`.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (class, block) = class(layout.size());
        let Some(free) = self.free.get(class).filter(|_| layout.align() <= UNIT) else { return null_mut() };
        let first = free.get();
        if first.is_null() {
            return self.carve(block);
        }
        // SAFETY: a free block holds the address of the next.
        free.set(unsafe { first.cast::<*mut u8>().read() });
        first
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(free) = self.free.get(class(layout.size()).0) {
            // SAFETY: the block is no longer in use, and large enough for an address.
            unsafe { block.cast::<*mut u8>().write(free.get()) };
            free.set(block);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if class(size) == class(layout.size()) {
            return block;
        }
        // SAFETY: as the caller says; both blocks hold the smaller size.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(target_family = "wasm")]
#[global_allocator]
static MEMORY: Memory = Memory::new(|pages| {
    let before = core::arch::wasm32::memory_grow(0, pages);
    (before != usize::MAX).then(|| before.wrapping_mul(PAGE))
});

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// Pages that are never given back, seldom next to each other.
    fn pages(count: usize) -> Option<usize> {
        let layout = Layout::from_size_align(count * PAGE, PAGE).ok()?;
        // SAFETY: the layout is not empty.
        Some(unsafe { std::alloc::alloc(layout) }.expose_provenance())
    }

    #[test]
    fn classes_hold_what_they_should_and_waste_at_most_a_quarter() {
        let mut before = (3, UNIT);
        for size in 1..200_000 {
            let (class, block) = class(size);
            assert!(block >= size && block % UNIT == 0, "{size}: {block}");
            assert!(size <= 16 || block * 4 <= size * 5 + 4 * UNIT, "{size}: {block}");
            assert!(class == before.0 && block == before.1 || class > before.0 && block > before.1, "{size}");
            before = (class, block);
        }
        assert!(class(1 << 30).0 < CLASSES);
    }

    #[test]
    fn what_cannot_be_had_is_null() {
        let memory = Memory::new(|_| None);
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        // SAFETY: the layouts are not empty.
        unsafe {
            assert!(memory.alloc(layout(10, 8)).is_null());
            assert!(Memory::new(pages).alloc(layout(2 << 30, 8)).is_null());
            assert!(Memory::new(pages).alloc(layout(64, 64)).is_null());
        }
    }

    proptest! {
        /// Each step takes a block, gives one back or changes its size. No block is touched through another.
        #[test]
        fn blocks_keep_what_is_written(steps in prop::collection::vec((0..4_u8, 1..5_000_usize, any::<usize>()), 1..400)) {
            let memory = Memory::new(pages);
            let mut blocks: Vec<(*mut u8, Layout, u8)> = Vec::new();
            for (number, (step, size, which)) in steps.into_iter().enumerate() {
                let layout = Layout::from_size_align(size, 8).unwrap();
                // SAFETY: every block is used with its own layout, within its size.
                unsafe {
                    if step < 2 || blocks.is_empty() {
                        let block = memory.alloc(layout);
                        block.write_bytes(number as u8, size);
                        blocks.push((block, layout, number as u8));
                    } else if step == 2 {
                        let (block, layout, mark) = blocks.swap_remove(which % blocks.len());
                        prop_assert!((0..layout.size()).all(|at| block.add(at).read() == mark));
                        memory.dealloc(block, layout);
                    } else {
                        let at = which % blocks.len();
                        let (block, old, mark) = blocks[at];
                        let moved = memory.realloc(block, old, size);
                        prop_assert!((0..size.min(old.size())).all(|at| moved.add(at).read() == mark));
                        moved.write_bytes(mark, size);
                        blocks[at] = (moved, layout, mark);
                    }
                }
            }
            for (block, layout, mark) in blocks {
                // SAFETY: as above.
                let kept = unsafe { (0..layout.size()).all(|at| block.add(at).read() == mark) };
                prop_assert!(kept);
            }
        }
    }
}
