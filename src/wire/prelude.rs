//! Replaces `std`'s prelude: the pure rooms are `no_std` + `alloc`, so each of their files starts from here.
//!
//! Of ours there is only what every room needs to speak: a reader should see in the imports where a name comes from.

pub use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
    vec,
    vec::Vec,
};

/// A count with its noun: `1 exchange`, `2 exchanges`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A text with single blanks: columns, wraps and indents make no difference.
pub fn joined_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An enum whose variants are words of files: `/// doc` and `Variant = "word",` for each; `default Variant` after the name makes one the default.
///
/// It has `WORDS`, each variant with its word and its doc; `ALL`; and `as_str`.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $Name:ident $(default $default:ident)? {
            $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$attribute])*
        $vis enum $Name {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $Name {
            /// The words, each with its variant and what it means.
            $vis const WORDS: &'static [(&'static str, Self, &'static str)] =
                &[$(($word, Self::$variant, concat!($($doc, "\n"),+)),)+];

            /// All of them, in the order in which they are declared.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The variant of a word.
            $vis fn from_word(word: &str) -> Option<Self> {
                Self::WORDS.iter().find(|(known, ..)| *known == word).map(|(_, variant, _)| *variant)
            }

            /// The word that files use.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        // Not every enum of words is used in every way.
        const _: () = {
            let _ = ($Name::ALL, $Name::as_str, $Name::from_word);
        };

        $(
            impl Default for $Name {
                fn default() -> Self {
                    Self::$default
                }
            }
        )?
    };
}

pub use words;
