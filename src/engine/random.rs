//! Keyed randomness (D3): a draw belongs to what it is for, not to its turn.
//!
//! Each draw comes from a ChaCha stream derived from (seed, purpose, identity), so that one more fault or tool shifts no other
//! draw, and a one-line change of a scenario changes a few lines of the transcript. It lives beside the contract because engines
//! draw too (jitter), and the world and the run loop sit above them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use serde::{Deserialize, Serialize};

/// The root of all draws of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// The draws for one purpose and identity, in order.
#[derive(Clone, Debug)]
pub struct KeyedDraws(ChaCha8Rng);

impl Seed {
    /// Opens the stream for `purpose` (e.g. `"tool-latency"`) and `identity` (e.g. a tool use's id).
    pub fn draws(self, purpose: &str, identity: &str) -> KeyedDraws {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.0.to_le_bytes());
        key[8..16].copy_from_slice(&fnv1a(purpose.as_bytes()).to_le_bytes());
        key[16..24].copy_from_slice(&fnv1a(identity.as_bytes()).to_le_bytes());
        KeyedDraws(ChaCha8Rng::from_seed(key))
    }
}

impl KeyedDraws {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// The next number in `[0, 1)`, with 53 bits.
    pub fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
        let numerator = (self.bits() >> 11) as f64;
        numerator / 9_007_199_254_740_992.0
    }

    /// The next whole number in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply-shift: a bias below 2^-32 for every bound that a scenario can hold, and no loop.
        let wide = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(u64::MAX)
    }
}

/// FNV-1a: a stable hash of a few bytes; the key's quality comes from ChaCha.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_3_a_draw_depends_on_its_key_alone() {
        let seed = Seed(7);
        let alone = seed.draws("tool-latency", "toolu_b").bits();
        let _another = seed.draws("tool-latency", "toolu_a").bits();
        assert_eq!(seed.draws("tool-latency", "toolu_b").bits(), alone);
        assert_ne!(seed.draws("tool-latency", "toolu_a").bits(), alone);
        assert_ne!(seed.draws("jitter", "toolu_b").bits(), alone);
        assert_ne!(Seed(8).draws("tool-latency", "toolu_b").bits(), alone);
    }

    #[test]
    fn d_1_draws_are_the_same_on_every_machine() {
        assert_eq!(Seed(1).draws("a", "b").bits(), 13_801_891_906_395_711_022);
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut draws = Seed(3).draws("range", "");
        for _ in 0..1_000 {
            assert!((0.0..1.0).contains(&draws.unit()));
            assert!(draws.below(16) < 16);
        }
        assert_eq!(draws.below(0), 0);
    }
}
