//! The options of the fuzzer of readers.

use std::path::PathBuf;
use std::time::Duration;

/// The options of the command line.
pub(crate) struct ReaderFuzzOptions {
    /// How long one target runs.
    pub(crate) time: Duration,
    /// The seed of all cases.
    pub(crate) seed: u64,
    /// A folder with more samples.
    pub(crate) corpus: Option<PathBuf>,
    /// Where the bytes of findings go.
    pub(super) out: PathBuf,
    pub(super) only: Option<String>,
    /// Whether this process is a child: the number of its first case, and the file that it notes each case in.
    pub(super) child: Option<(u64, PathBuf)>,
}

impl ReaderFuzzOptions {
    /// Reads the words of the command line.
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options =
            Self { time: Duration::from_secs(10), seed: 1, corpus: None, out: crate::root().join("target/fuzz"), only: None, child: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = *words.next().ok_or(format!("`{word}` needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("`{word}` needs a number, found `{value}`"));
            match *word {
                "--seconds" => options.time = Duration::from_secs(number()?),
                "--seed" => options.seed = number()?,
                "--target" => options.only = Some(value.into()),
                "--corpus" => options.corpus = Some(value.into()),
                "--out" => options.out = value.into(),
                // Of the command's own children.
                "--child" => options.child = Some((number()?, PathBuf::new())),
                "--state" => options.child = options.child.map(|(first, _)| (first, value.into())),
                _ => return Err(format!("unknown option `{word}`")),
            }
        }
        Ok(options)
    }
}
