//! The memory of an exploration: how much there may be, and how much there is (E-3).

use std::str::FromStr;

/// The value of `--memory`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryLimit(u64);

impl FromStr for MemoryLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_right = |gib: &f64| (0.0..=65_536.0).contains(gib);
        let gib = text.parse().ok().filter(is_right).ok_or("a number of GiB, as in `4` or `0.5`")?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a number of bytes, and not negative")]
        let bytes = (gib * f64::from(1_u32 << 30)) as u64;
        Ok(Self(bytes))
    }
}

/// How much memory there is beside the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryState {
    Enough,
    /// No more runs should be kept.
    Scarce,
    /// Nor more states.
    Exhausted,
}

/// Watches the memory of the program.
pub(super) struct MemoryWatch {
    limit: MemoryLimit,
    /// Where it is scarce again. What is freed does not always go back to the system, so only growth counts.
    next: u64,
}

impl MemoryWatch {
    pub(super) fn new(limit: MemoryLimit) -> Self {
        Self { limit, next: limit.0 }
    }

    /// The state now. Where the system does not tell it there is enough.
    pub(super) fn look(&mut self) -> MemoryState {
        self.judge(memory_stats::memory_stats().map_or(0, |stats| stats.physical_mem as u64))
    }

    fn judge(&mut self, used: u64) -> MemoryState {
        if used <= self.next {
            return MemoryState::Enough;
        }
        self.next = used + used / 50;
        if used > self.limit.0.saturating_mul(2) { MemoryState::Exhausted } else { MemoryState::Scarce }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_3_memory_is_scarce_before_it_is_exhausted() {
        let state = |gib: &str| MemoryWatch::new(gib.parse().unwrap()).look();
        assert_eq!(state("60000"), MemoryState::Enough);
        assert_eq!(state("0"), MemoryState::Exhausted);
        let mut watch = MemoryWatch::new(MemoryLimit(1_000));
        let states = [1_000, 1_001, 1_001, 1_020, 1_100, 2_001].map(|used| watch.judge(used));
        let expected = [
            MemoryState::Enough,
            MemoryState::Scarce,
            MemoryState::Enough,
            MemoryState::Enough,
            MemoryState::Scarce,
            MemoryState::Exhausted,
        ];
        assert_eq!(states, expected, "only growth counts");
        for wrong in ["", "-1", "NaN", "much", "1e300"] {
            assert!(wrong.parse::<MemoryLimit>().is_err(), "{wrong}");
        }
    }
}
