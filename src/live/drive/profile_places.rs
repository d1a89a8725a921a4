//! The places that a profile names, held against a run in which nothing was done to the client (K-9).
//!
//! A place where a client that was answered has left nothing is misspelt. Then what stands there was never looked at, in this run or in any other.

use super::run_history::RunExchange;
use super::{ClientHarness, ClientRun};
use reenact_scenario::client_profile::{ClientProfile, SessionPlace};
use reenact_wire::prelude::*;

/// The places of the profile that hold nothing. A client without a whole answer owes none.
pub(super) fn problems(harness: &ClientHarness, run: &ClientRun, exchanges: &[RunExchange]) -> Vec<String> {
    if !exchanges.iter().any(|exchange| exchange.is_complete) {
        return Vec::new();
    }
    let profile = harness.profile.as_deref();
    store_problem(profile, run).into_iter().chain(session_problem(harness, profile, run)).collect()
}

fn store_problem(profile: Option<&ClientProfile>, run: &ClientRun) -> Option<String> {
    let (place, stored) = (profile?.store.as_ref()?, run.traces.stored.as_ref()?);
    if stored.files > 0 || !stored.problems.is_empty() {
        return None;
    }
    let nearest = stored.nearest.as_ref().map(|nearest| format!("; {nearest}")).unwrap_or_default();
    Some(format!("K-9: no file is where the profile has the sessions, {}{nearest}: correct `files` in [store]", place.files))
}

fn session_problem(harness: &ClientHarness, profile: Option<&ClientProfile>, run: &ClientRun) -> Option<String> {
    let place = profile.and_then(|profile| profile.session.as_ref());
    let resumes = profile.map(|profile| &profile.resume).filter(|words| !words.is_empty()).into_iter().chain(&harness.again);
    let is_needed = place.is_some() || resumes.into_iter().any(|words| harness.resumes_by_session(words));
    if !is_needed || run.output.session().is_some() {
        return None;
    }
    let has_stored = || run.traces.stored.as_ref().is_some_and(|stored| stored.newest_session().is_some());
    Some(match place {
        Some(SessionPlace { member: Some(member), .. }) => {
            format!("K-9: no line of the output has the member `{member}` with the session's id: correct `member` in [session]")
        }
        Some(SessionPlace { files, .. }) => {
            let files = files.as_deref().unwrap_or_default();
            format!("K-9: no file gives the session's id, {files}: correct `files` in [session]")
        }
        None if has_stored() => return None,
        None => String::from("K-9: the output does not name the session that is to be resumed: write [session] in a profile"),
    })
}
