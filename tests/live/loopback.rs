//! The live driver over loopback: against the replay server, and against servers that are not what they should be.

use std::future::{Future, pending};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::log::replay;
use reenact::foreign::verdict::SessionVerdict;
use reenact::live::driver::{ApiAddress, EngineDriverOptions, UpstreamError, drive};
use reenact::live::network::{LOOPBACK, MachineNetwork, Network};
use reenact::live::serve::{self, AnswerPace, ServedScenario};
use reenact::live::tls::TlsError;
use reenact::sim::Run;
use reenact::sim::report::RunReport;
use reenact::transcript::text::{DetailLevel, render_untimed};
use reenact::world::setup::RunSetup;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::setup;

/// Answers come at once, and the engine does not wait long, so that a test takes no longer than it must.
const QUICK: &str = "tools = [\"Read\"]
[engine.retry]
base_delay = \"20ms\"
[[prompt]]
text = \"What does a say?\"
[[prompt.turn]]
text = \"I will read it.\"
tool = [{ name = \"Read\", input = { file_path = \"/w/a\" }, result = \"alpha\", latency = \"5ms\" }]
[[prompt.turn]]
text = \"It says alpha.\"
";

pub(crate) fn in_runtime<R>(work: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(120), work).await.expect("it was never done") })
}

/// Drives a scenario's session against whatever is at a base URL.
pub(crate) async fn driven(setup: &Arc<RunSetup>, url: &str, ca: Option<&std::path::Path>) -> RunReport<AgentLoop> {
    let upstream = ApiAddress::read(url, "sk-ant-test-000", ca).unwrap();
    let run = Run::new(setup.clone(), AgentLoop::default()).with_log();
    drive(run, MachineNetwork, upstream, EngineDriverOptions::default(), pending()).await.unwrap()
}

/// Serves a scenario while `work` continues.
pub(crate) async fn served<R, W: Future<Output = R>>(setup: &Arc<RunSetup>, work: impl FnOnce(SocketAddr) -> W) -> (R, SessionVerdict) {
    let listener = MachineNetwork.bind(LOOPBACK).await.unwrap();
    let address = MachineNetwork::address(&listener).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let options = serve::ServeOptions { pace: AnswerPace::None, ..serve::ServeOptions::default() };
    let server = tokio::spawn(ServedScenario::new(setup, options).serve::<MachineNetwork>(listener, async {
        let _ = stopped.await;
    }));
    let result = work(address).await;
    let _ = stop.send(());
    (result, server.await.unwrap())
}

fn both(text: &str) -> (RunReport<AgentLoop>, SessionVerdict) {
    let setup = setup(text);
    in_runtime(served(&setup, |address| {
        let setup = setup.clone();
        async move { driven(&setup, &format!("http://{address}"), None).await }
    }))
}

#[test]
fn m_11_a_live_session_is_the_simulated_one_and_its_log_replays() {
    let (report, verdict) = both(QUICK);
    assert_eq!((report.terminal(), &report.failures), ("completed", &Vec::new()), "{}", report.text(DetailLevel::Debug));
    assert!(verdict.is_fine(), "{verdict}");
    let simulated = Run::new(setup(QUICK), AgentLoop::default()).to_end();
    let brief = |report: &RunReport<AgentLoop>| render_untimed(&report.transcript, DetailLevel::Brief);
    assert_eq!(brief(&report), brief(&simulated));
    let log = report.log.unwrap();
    assert!(replay(log.as_str(), AgentLoop::default()).unwrap().steps > 10);
    let changed = log.as_str().replacen("I will read it.", "I won't read it.", 1);
    assert!(replay(&changed, AgentLoop::default()).is_err(), "an input alone was changed");
}

#[test]
fn m_11_faults_come_through_as_what_they_are() {
    for (fault, reason) in [
        ("status = 529", "529 overloaded_error"),
        ("cut = { after_events = 3 }", "connection_reset: the connection was cut"),
        ("cut = { after_events = 3, how = \"truncate\" }", "connection_reset: the connection was closed inside the answer"),
        ("connect = \"reset\"", "connection_reset: the connection was cut"),
        ("error_event = \"overloaded_error\"\nafter_events = 2", "overloaded_error"),
        ("empty_body = true", "request 1.2"),
    ] {
        let (report, verdict) = both(&format!("{QUICK}\n[[fault]]\nat = {{ request = 1, attempt = 1 }}\n{fault}\n"));
        let text = report.text(DetailLevel::Debug);
        assert_eq!(report.terminal(), "completed", "{fault}: {text}");
        assert!(text.contains(reason), "{fault}: {text}");
        assert!(verdict.asked.len() > 2, "{fault}: nothing went wrong: {verdict}");
        replay(report.log.unwrap().as_str(), AgentLoop::default()).unwrap_or_else(|error| panic!("{fault}: {error}"));
    }
}

#[test]
fn k_6_on_a_real_clock_engine_and_server_take_the_same_wait_for_the_one_that_is_expected() {
    let scenario = |delays: &str| {
        format!(
            "[engine.retry]\njitter_percent = 0\n\n[timing]\nhead = \"1ms\"\nfirst_event = \"1ms\"\nbetween_events = \"1ms\"\n\n[[prompt]]\n\
             text = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n\n[[fault]]\nat = {{ attempt = 1 }}\nstatus = 529\n\n[expect]\n\
             delays = [\"{delays}\"]\n"
        )
    };
    let fits = || {
        let (report, verdict) = both(&scenario("500ms"));
        report.failures.is_empty() && verdict.is_fine()
    };
    assert!((0..3).any(|_| fits()), "a busy machine may be late once");
    let (report, verdict) = both(&scenario("100ms"));
    for failures in [&report.failures, &verdict.failures] {
        assert!(matches!(&failures[..], [failure] if failure.ends_with("expected 0.100s, and 0.050s..0.360s passes")), "{failures:?}");
    }
}

#[test]
fn m_3_a_server_without_an_answer_ends_the_run_by_that_name() {
    let without_the_last = QUICK.rsplit_once("[[prompt.turn]]").unwrap().0;
    let (report, _) = both(without_the_last);
    assert_eq!(report.terminal(), "tape_exhausted", "{}", report.text(DetailLevel::Debug));
}

const ONE_TRY: &str =
    "[engine.retry]\nmax_retries = 1\nbase_delay = \"10ms\"\n[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n";

#[test]
fn m_11_what_is_wrong_with_a_server_stands_in_the_transcript() {
    let setup = setup(ONE_TRY);
    let (nobody, rude) = in_runtime(async {
        let closed = TcpListener::bind(LOOPBACK).await.unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let nobody = driven(&setup, &format!("http://{address}"), None).await;
        let listener = TcpListener::bind(LOOPBACK).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").await;
            }
        });
        (nobody, driven(&setup, &url, None).await)
    });
    assert!(
        nobody.text(DetailLevel::Normal).contains("connection_refused: no server listens at this address"),
        "{}",
        nobody.text(DetailLevel::Normal)
    );
    for report in [nobody, rude] {
        assert_eq!(report.terminal(), "model_error", "{}", report.text(DetailLevel::Normal));
    }
}

#[test]
fn m_11_who_stops_it_gets_what_happened_until_then() {
    let setup = setup(&QUICK.replace("latency = \"5ms\"", "latency = \"1h\""));
    let (report, _) = in_runtime(served(&setup, |address| {
        let run = Run::new(setup.clone(), AgentLoop::default()).with_log();
        let upstream = ApiAddress::read(&format!("http://{address}"), "key", None).unwrap();
        async move { drive(run, MachineNetwork, upstream, EngineDriverOptions::default(), sleep(Duration::from_millis(600))).await.unwrap() }
    }));
    let text = report.text(DetailLevel::Normal);
    assert_eq!(report.terminal(), "stopped");
    assert!(text.contains("starts") && text.contains("0.6") && text.contains("the run was stopped before its end"), "{text}");
    assert!(report.failures.iter().any(|failure| failure.contains("stopped")), "{:?}", report.failures);
    replay(report.log.unwrap().as_str(), AgentLoop::default()).unwrap();
}

#[test]
fn m_11_a_bad_address_is_named_with_what_to_write() {
    for (url, part) in
        [("ftp://x", "http://"), ("localhost:80", "http://127.0.0.1:8080"), ("http://", "is not a base URL"), ("", "is not a base URL")]
    {
        let error = ApiAddress::read(url, "key", None).unwrap_err();
        assert!(error.to_string().contains(part), "{url}: {error}");
    }
    let missing = ApiAddress::read("https://127.0.0.1:1", "key", Some("/nowhere.pem".as_ref())).unwrap_err();
    assert!(matches!(missing, UpstreamError::Tls(TlsError::Ca { .. })), "{missing}");
    assert!(missing.to_string().contains("/nowhere.pem"), "{missing}");
}
