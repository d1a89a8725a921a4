//! Numbers to choose by: the same for the same seed, on every machine.

/// A generator of numbers (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// One of 0 to `most`, both included.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        self.next() % (most + 1)
    }

    /// Whether one of `in_how_many` came up.
    pub(crate) fn hits(&mut self, in_how_many: u64) -> bool {
        self.up_to(in_how_many - 1) == 0
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.up_to(choices.len() as u64 - 1)).unwrap()]
    }

    /// Some words, most often few.
    pub(crate) fn words(&mut self) -> String {
        let count = self.one_of(&[1, 2, 5, 20, 60, 300]);
        (0..count).map(|_| self.one_of(&["go", "some", "words", "that", "fill", "it"])).collect::<Vec<_>>().join(" ")
    }
}
