//! The body of a request, as it reads: bounded, and unpacked where it is compressed (K-6, K-12).
//!
//! A client that sends too much gets its 413 when it has sent everything. An answer before that would find it still writing, and it would see a broken
//! connection in the place of the answer.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Bytes};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use reenact_files::compression::{CompressionFormat, read_bounded};
use reenact_foreign::session::error_body;
use reenact_wire::prelude::*;
use reenact_wire::validate::{REQUEST_BYTES_MAX, Refusal};

/// How much more is read of a body that is too large, and for how long. Then its client has to see a broken connection.
const DISCARD_BYTES_MAX: usize = 1 << 30;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(60);

/// Room for the bodies that all clients send together (K-12).
#[derive(Clone, Debug)]
pub(super) struct OpenBodiesRoom {
    left: Arc<Semaphore>,
    bytes_max: usize,
}

/// A body, with the room that it takes until this is dropped.
#[derive(Debug)]
pub(super) struct ReceivedBody {
    pub(super) bytes: Vec<u8>,
    pub(super) room: OwnedSemaphorePermit,
}

/// Why there is no body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestBodyError {
    /// The client left within its request.
    ClientLeft,
    /// The API refuses it, with this body.
    Refused { status: u16, body: String, problem: String },
}

impl OpenBodiesRoom {
    /// For so many bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        let bytes_max = bytes_max.min(Semaphore::MAX_PERMITS);
        Self { left: Arc::new(Semaphore::new(bytes_max)), bytes_max }
    }

    /// Room for so many bytes, where there is some.
    fn take(&self, count: usize) -> Option<OwnedSemaphorePermit> {
        self.left.clone().try_acquire_many_owned(u32::try_from(count).ok()?).ok()
    }

    /// The API's answer when it has too much to do: clients ask again.
    fn refusal(&self) -> RequestBodyError {
        let body = error_body("overloaded_error", "Overloaded");
        let problem =
            format!("the bodies of open requests took more than {} MiB together: send fewer at once", self.bytes_max.div_ceil(1 << 20));
        RequestBodyError::Refused { status: 529, body, problem }
    }
}

/// Reads a body to its end.
pub(super) async fn read<B>(headers: &HeaderMap, body: B, room: &OpenBodiesRoom) -> Result<ReceivedBody, RequestBodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let sent = collect(body, room).await?;
    let encoding = headers.get("content-encoding").map_or("", |value| value.to_str().unwrap_or("?")).trim().to_ascii_lowercase();
    match encoding.as_str() {
        "" | "identity" => Ok(sent),
        "gzip" | "x-gzip" => {
            let bytes = unpacked(&sent.bytes)?;
            drop(sent);
            let taken = room.take(bytes.len()).ok_or_else(|| room.refusal())?;
            Ok(ReceivedBody { bytes, room: taken })
        }
        other => {
            let text = format!("content-encoding: `{other}` is not supported; send the body as it is, or with `gzip`");
            Err(invalid(&text))
        }
    }
}

/// All bytes of a body. Those of one that is too large are read and dropped.
async fn collect<B: Body<Data = Bytes> + Unpin>(mut body: B, room: &OpenBodiesRoom) -> Result<ReceivedBody, RequestBodyError> {
    let mut bytes = Vec::new();
    let mut taken = room.take(0).ok_or_else(|| room.refusal())?;
    let refusal = loop {
        let Some(frame) = body.frame().await else { return Ok(ReceivedBody { bytes, room: taken }) };
        let frame = frame.map_err(|_| RequestBodyError::ClientLeft)?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > REQUEST_BYTES_MAX {
            break too_large();
        }
        match room.take(data.len()) {
            Some(more) => taken.merge(more),
            None => break room.refusal(),
        }
        bytes.extend_from_slice(data);
    };
    drop((bytes, taken));
    // Who is still sending then sees the connection break, which nothing can help.
    let _ = timeout(DISCARD_TIME_MAX, discard(body)).await;
    Err(refusal)
}

async fn discard<B: Body<Data = Bytes> + Unpin>(mut body: B) {
    let mut left = DISCARD_BYTES_MAX;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(length) else { return };
        left = rest;
    }
}

/// A few bytes may unpack to any size, so that the bound holds for what comes out.
fn unpacked(sent: &[u8]) -> Result<Vec<u8>, RequestBodyError> {
    match read_bounded(CompressionFormat::Gzip.reader(sent), REQUEST_BYTES_MAX as u64) {
        Err(error) => Err(invalid(&format!("the body is not the gzip that its content-encoding says: {error}"))),
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => {
            let details = serde_json::json!({ "error_code": "request_body_too_large_after_decoding" });
            let error =
                serde_json::json!({ "type": "request_too_large", "message": "Request exceeds the maximum size", "details": details });
            let body = serde_json::json!({ "type": "error", "error": error }).to_string();
            Err(RequestBodyError::Refused { status: 413, body, problem: problem_of_size("the unpacked body") })
        }
    }
}

fn too_large() -> RequestBodyError {
    let refusal = Refusal::too_large();
    RequestBodyError::Refused { status: refusal.status, body: refusal.body(""), problem: problem_of_size("the body") }
}

fn problem_of_size(what: &str) -> String {
    format!("{what} is larger than {} MiB", REQUEST_BYTES_MAX >> 20)
}

fn invalid(problem: &str) -> RequestBodyError {
    RequestBodyError::Refused { status: 400, body: error_body("invalid_request_error", problem), problem: problem.into() }
}
