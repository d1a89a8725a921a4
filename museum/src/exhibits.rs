//! The exhibits: the mini-loop with one other habit each, after a public report of a real agent.
//!
//! Each file begins with its card: the report, the mechanism, a scenario in which all is well, the smallest plan that fails, the oracles that see it, and the
//! budget of that plan. The scenarios are in `museum/scenarios`: `NAME.toml` is the plain one, `NAME-trigger.toml` the failing one.

use reenact::engine::contract::{Effects, Engine, Environment, Input, KeySink, Time};

use crate::mini_loop::MiniLoop;

/// The oracles that should see an exhibit, and those that do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its name, which is that of its scenarios.
    pub name: &'static str,
    /// The public report.
    pub report: &'static str,
    /// The oracles that should see it.
    pub oracles: &'static [&'static str],
    /// Where today's oracles see something else.
    pub differences: &'static [Difference],
}

/// A difference between a card and today's oracles: the rule, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The card names it, and it sees nothing.
    Missed(&'static str, &'static str),
    /// The card does not name it, and it sees something.
    Further(&'static str, &'static str),
}

impl Card {
    /// A card whose oracles see what they should.
    pub const fn new(name: &'static str, report: &'static str, oracles: &'static [&'static str]) -> Self {
        Self { name, report, oracles, differences: &[] }
    }

    /// The oracles that see it today, sorted.
    pub fn seen(&self) -> Vec<&'static str> {
        let is_missed = |oracle: &str| self.differences.iter().any(|of| matches!(of, Difference::Missed(missed, _) if *missed == oracle));
        let further = self.differences.iter().filter_map(|of| match of {
            Difference::Further(oracle, _) => Some(*oracle),
            Difference::Missed(..) => None,
        });
        let mut seen: Vec<&str> = self.oracles.iter().copied().filter(|oracle| !is_missed(oracle)).chain(further).collect();
        seen.sort_unstable();
        seen
    }
}

macro_rules! exhibits {
    ($($module:ident $habits:ident,)+) => {
        $(pub mod $module;)+

        /// All cards.
        pub const CARDS: &[Card] = &[$($module::CARD),+];

        /// The honest mini-loop, or one of the exhibits: one engine for a program and for tests.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MuseumLoop {
            /// The loop as it should be.
            Honest(MiniLoop),
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $habits(MiniLoop<$module::$habits>),)+
        }

        impl MuseumLoop {
            /// The exhibit with this name; `honest` is the loop as it should be.
            pub fn find(name: &str) -> Option<Self> {
                match name {
                    "honest" => Some(Self::Honest(MiniLoop::default())),
                    $(name if name == $module::CARD.name => Some(Self::$habits(MiniLoop::default())),)+
                    _ => None,
                }
            }
        }

        impl Engine for MuseumLoop {
            fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
                match self {
                    Self::Honest(inner) => inner.step(env, now, input, effects),
                    $(Self::$habits(inner) => inner.step(env, now, input, effects),)+
                }
            }

            fn key(&self, now: Time, out: &mut KeySink) -> bool {
                match self {
                    Self::Honest(inner) => inner.key(now, out),
                    $(Self::$habits(inner) => inner.key(now, out),)+
                }
            }
        }
    };
}

exhibits! {
    dropped_call DroppedCall,
    same_message SameMessage,
    told_not_run ToldNotRun,
    completion_order CompletionOrder,
    first_question FirstQuestion,
    stream_by_flag StreamByFlag,
    lost_wake_up LostWakeUp,
    two_endings TwoEndings,
    kept_buffer KeptBuffer,
    run_again RunAgain,
    stripped_copy StrippedCopy,
    old_window OldWindow,
    last_hook_wins LastHookWins,
    orphan_agent OrphanAgent,
}
