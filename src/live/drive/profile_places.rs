//! The places that a profile names, held against a run in which nothing was done to the client (K-9).
//!
//! A place where a client that was answered has left nothing is misspelt. Then what stands there was never looked at, in this run or in any other.

use super::run_history::RunExchange;
use super::{ClientHarness, ClientRun};
use crate::prelude::*;
use crate::scenario::client_profile::SessionPlace;

/// The places of the profile that hold nothing. A client without a whole answer owes none.
pub(super) fn problems(harness: &ClientHarness, run: &ClientRun, exchanges: &[RunExchange]) -> Vec<String> {
    let Some(profile) = &harness.profile else { return Vec::new() };
    if !exchanges.iter().any(|exchange| exchange.is_complete) {
        return Vec::new();
    }
    let store =
        profile.store.as_ref().zip(run.traces.stored.as_ref()).filter(|(_, stored)| stored.files == 0 && stored.problems.is_empty());
    let of_store = store.map(|(place, stored)| {
        let nearest = stored.nearest.as_ref().map(|nearest| format!("; {nearest}")).unwrap_or_default();
        format!("K-9: no file is where the profile has the sessions, {}{nearest}: correct `files` in [store]", place.files)
    });
    let place = profile.session.as_ref();
    let is_needed = place.is_some() || profile.resume.iter().any(|word| word.contains("{session}"));
    let of_session = (is_needed && run.output.session().is_none()).then(|| match place {
        Some(SessionPlace { member: Some(member), .. }) => {
            format!("K-9: no line of the output has the member `{member}` with the session's id: correct `member` in [session]")
        }
        Some(SessionPlace { files, .. }) => {
            let files = files.as_deref().unwrap_or_default();
            format!("K-9: no file gives the session's id, {files}: correct `files` in [session]")
        }
        None => String::from("K-9: the output does not name the session that the profile resumes: write [session] in the profile"),
    });
    of_store.into_iter().chain(of_session).collect()
}
