//! `reenact replay LOG`.

use std::fs;
use std::path::PathBuf;

use super::Exit;
use super::output::{complain, say};
use crate::engine::contract::Engine;
use crate::engine::log::{ReplayError, replay_with};
use crate::files::schema;
use crate::prelude::*;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A log written by `reenact run SCENARIO --log FILE`
    log: PathBuf,
}

pub(super) fn run<E: Engine>(arguments: &Arguments, engine: E) -> Exit {
    let path = arguments.log.display();
    let text = match fs::read(&arguments.log).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => {
            complain(&format!("{path}: not UTF-8 text; a boundary log is JSON Lines"));
            return Exit::WrongInput;
        }
        Err(error) => {
            complain(&format!("{path}: {error}; `reenact run SCENARIO --log {path}` writes one"));
            return Exit::WrongInput;
        }
    };
    match replay_with(&text, engine, schema::attach) {
        Ok(done) => {
            say(&format!("{path}: {} steps, {} effects, all equal, until {}", done.steps, done.effects, done.until));
            Exit::Fine
        }
        Err(error @ ReplayError::Differs { .. }) => {
            complain(&format!("{path}: {error}"));
            Exit::Failed
        }
        Err(error) => {
            complain(&format!("{path}: {error}"));
            Exit::WrongInput
        }
    }
}
