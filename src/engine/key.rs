//! Keys of states (E-3): two states with one key run on alike, but for figures.
//!
//! ```text
//!   engine ──┐
//!   world  ──┼── Hash ──> KeySink ──> 128 bits        times as what is left until then, names in the order of their first appearance
//!   oracles ─┘
//! ```
//!
//! A state says what belongs to it by its `Hash`: all that can change a later effect other than by a figure in it. What cannot is
//! [`KeylessValue`]: durations, totals that are only reported.

mod shared_value;

pub use shared_value::SharedValue;

use alloc::collections::BTreeMap;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Add, AddAssign, Deref, DerefMut};

use twox_hash::XxHash3_128;

use super::time::Time;
use reenact_wire::prelude::*;

/// The key of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateKey(pub u128);

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Takes in a state. It is a [`Hasher`], so that `state.hash(&mut sink)` takes in all of a state whose parts have a `Hash`; of those a
/// [`Time`] counts as what is left until then.
#[derive(Debug)]
pub struct KeySink {
    now: Time,
    /// The bytes that were taken in, and behind them room for more. A vector would call its allocator's code for each of the many small numbers.
    bytes: Vec<u8>,
    /// How many bytes were taken in.
    length: usize,
    names: BTreeMap<(&'static str, String), u64>,
    /// Whether there may be instants in what is taken in.
    has_instants: bool,
}

/// A state of a short run has about so many bytes.
const USUAL_SIZE: usize = 8 << 10;

/// A value without instants may have so many.
const SMALL_SIZE: usize = 512;

impl Default for KeySink {
    fn default() -> Self {
        Self { now: Time::ZERO, bytes: vec![0; USUAL_SIZE], length: 0, names: BTreeMap::new(), has_instants: true }
    }
}

impl KeySink {
    /// A sink for a state at this time.
    pub fn new(now: Time) -> Self {
        Self { now, ..Self::default() }
    }

    /// A sink for a value without instants.
    fn without_instants() -> Self {
        Self { has_instants: false, bytes: Vec::new(), length: 0, now: Time::ZERO, names: BTreeMap::new() }
    }

    /// A name that only has to be told from others of its kind: the key has the place of its first appearance.
    pub fn id(&mut self, kind: &'static str, id: &str) {
        let next = self.names.len() as u64;
        let place = *self.names.entry((kind, id.into())).or_insert(next);
        self.write_u64(place);
    }

    /// An instant, as what is left until then, or how long it is past.
    pub fn instant(&mut self, at: Time) {
        self.write_u64(at.0.wrapping_sub(self.now.0));
    }

    /// An instant that is only compared with the present: as what is left until then. All that are past are one.
    pub fn deadline(&mut self, at: Time) {
        self.write_u64(at.0.checked_sub(self.now.0).unwrap_or(u64::MAX));
    }

    /// A value that several states share.
    pub fn shared<T: Hash + ?Sized>(&mut self, value: &Arc<T>) {
        value.hash(self);
    }

    /// Bytes as they are, with their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.write_u64(bytes.len() as u64);
        self.write(bytes);
    }

    /// The key of all that was taken in.
    pub fn key(&self) -> StateKey {
        // Nobody chooses states to make keys collide, so a fast hash does.
        StateKey(XxHash3_128::oneshot(&self.bytes[..self.length]))
    }

    /// Makes the sink ready for another state, keeping its memory.
    pub fn reset(&mut self, now: Time) {
        self.now = now;
        self.length = 0;
        self.names.clear();
    }

    /// Takes in the bytes of a number.
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        match self.bytes.get_mut(self.length..).and_then(|room| room.first_chunk_mut()) {
            Some(room) => {
                *room = bytes;
                self.length += N;
            }
            None => self.put_slice(&bytes),
        }
    }

    fn put_slice(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if end > self.bytes.len() {
            self.bytes.resize(end.max(2 * self.bytes.len()).max(SMALL_SIZE), 0);
        }
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }
}

/// The same bytes on every machine: numbers are written little-endian, sizes as 64 bits.
impl Hasher for KeySink {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.put_slice(bytes);
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.put([number]);
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.put(number.to_le_bytes());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.put(number.to_le_bytes());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.put(number.to_le_bytes());
    }

    /// Instants are the one kind of value that is written so: see the `Hash` of [`Time`] and of [`Deadline`].
    fn write_u128(&mut self, number: u128) {
        debug_assert!(self.has_instants, "an instant in a value that is the same at any time");
        match u64::try_from(number) {
            Ok(instant) => self.instant(Time(instant)),
            Err(_) => self.deadline(Time(u64::try_from(number & u128::from(u64::MAX)).unwrap_or(u64::MAX))),
        }
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        u64::try_from(self.key().0 >> 64).unwrap_or(u64::MAX)
    }
}

/// An instant that is only compared with the present: of those that are past it does not matter how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(pub Time);

impl Hash for Deadline {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The bit above the instant tells it from a `Time`.
        state.write_u128(1 << 64 | u128::from(self.0.0));
    }
}

impl Deref for Deadline {
    type Target = Time;

    fn deref(&self) -> &Time {
        &self.0
    }
}

/// A figure that changes no later effect other than by a figure in it: no part of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeylessValue<T>(pub T);

impl<T> Hash for KeylessValue<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T: Copy + Add<Output = T>> AddAssign<T> for KeylessValue<T> {
    fn add_assign(&mut self, more: T) {
        self.0 = self.0 + more;
    }
}

impl<T> Deref for KeylessValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for KeylessValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Micros;

    fn key(now: u64, state: impl Hash) -> StateKey {
        let mut sink = KeySink::new(Time(now));
        state.hash(&mut sink);
        sink.key()
    }

    #[test]
    fn e_3_an_instant_counts_as_what_is_left_until_then() {
        assert_eq!(key(5, Some(Time(9))), key(105, Some(Time(109))));
        assert_ne!(key(5, Time(9)), key(5, Time(8)));
        assert_eq!(key(9, Time(5)), key(19, Time(15)), "past instants too");
        assert_ne!(key(5, Micros(9)), key(105, Micros(109)), "a span is as long as it is");
    }

    #[test]
    fn e_3_deadlines_that_are_past_are_one() {
        assert_eq!(key(5, Deadline(Time(9))), key(105, Deadline(Time(109))));
        assert_eq!(key(5, Deadline(Time(4))), key(105, Deadline(Time(9))));
        assert_ne!(key(5, Deadline(Time(5))), key(5, Deadline(Time(4))), "the present is not past");
    }

    #[test]
    fn e_3_figures_are_no_part_of_a_key() {
        assert_eq!(key(0, (1_u32, KeylessValue(7))), key(0, (1_u32, KeylessValue(8))));
        assert_ne!(key(0, ("a", "bc")), key(0, ("ab", "c")), "what belongs together stays together");
    }

    #[test]
    fn e_3_names_are_told_apart_and_nothing_else() {
        let of = |names: &[(&'static str, &str)]| {
            let mut sink = KeySink::new(Time::ZERO);
            names.iter().for_each(|(kind, name)| sink.id(kind, name));
            sink.key()
        };
        assert_eq!(of(&[("tool", "x"), ("tool", "y"), ("tool", "x")]), of(&[("tool", "b"), ("tool", "a"), ("tool", "b")]));
        assert_ne!(of(&[("tool", "x"), ("tool", "y")]), of(&[("tool", "x"), ("tool", "x")]));
    }
}
