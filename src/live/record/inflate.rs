//! Compressed bodies are stored as they read, piece by piece as they come (K-1).
//!
//! Flushed bytes come out with the piece that brought them. Of zstd the decoder gives only what lies further back than the window of the
//! compressor, so of a small body everything comes with its last piece.

use std::io::{self, Write as _};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::FrameDecoder;

use crate::wire::http::{HttpHeader, find};

const BUFFER_BYTES: usize = 64 << 10;

/// The longest header of a zstd frame.
const ZSTD_HEADER_BYTES: usize = 18;

/// Takes the encodings of a body off.
pub(super) struct BodyInflater {
    /// The names, as the header has them; empty for a body that is not encoded.
    pub(super) names: String,
    layers: Vec<EncodingLayer>,
}

enum EncodingLayer {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    /// Which of the two it is shows with its first byte.
    Deflate,
    Zlib(Box<ZlibDecoder<Vec<u8>>>),
    RawDeflate(Box<DeflateDecoder<Vec<u8>>>),
    Brotli(Box<DecompressorWriter<Vec<u8>>>),
    Zstd(Box<FrameDecoder>, Vec<u8>),
}

impl BodyInflater {
    /// For a body with these headers.
    ///
    /// # Errors
    /// The name of an encoding that is not known.
    pub(super) fn from_headers(headers: &[HttpHeader]) -> Result<Self, String> {
        let names = find(headers, "content-encoding").unwrap_or_default();
        let each = names.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty() && name != "identity");
        let mut layers = Vec::new();
        for name in each {
            layers.push(match name.as_str() {
                "gzip" | "x-gzip" => EncodingLayer::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
                "deflate" => EncodingLayer::Deflate,
                "br" => EncodingLayer::Brotli(Box::new(DecompressorWriter::new(Vec::new(), BUFFER_BYTES))),
                "zstd" => EncodingLayer::Zstd(Box::new(FrameDecoder::new()), Vec::new()),
                _ => return Err(name),
            });
        }
        layers.reverse();
        let names = if layers.is_empty() { String::new() } else { names.to_owned() };
        Ok(Self { names, layers })
    }

    /// Whether there is nothing to take off.
    pub(super) fn is_plain(&self) -> bool {
        self.layers.is_empty()
    }

    /// What the next bytes read as; perhaps nothing yet.
    ///
    /// # Errors
    /// When the body is not what its header says.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = bytes.to_vec();
        for layer in &mut self.layers {
            bytes = layer.feed(&bytes)?;
        }
        Ok(bytes)
    }
}

impl EncodingLayer {
    fn feed(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        if let (Self::Deflate, Some(first)) = (&self, bytes.first()) {
            // Zlib names its method in its first byte; a raw stream with the same bits would begin with a reserved kind of block.
            *self = match first & 0x0f == 8 {
                true => Self::Zlib(Box::new(ZlibDecoder::new(Vec::new()))),
                false => Self::RawDeflate(Box::new(DeflateDecoder::new(Vec::new()))),
            };
        }
        match self {
            Self::Deflate => Ok(Vec::new()),
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zlib(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::RawDeflate(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Brotli(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zstd(decoder, waiting) => {
                waiting.extend_from_slice(bytes);
                unzstd(decoder, waiting)
            }
        }
    }
}

/// Decodes the whole blocks that are there; the rest waits.
fn unzstd(decoder: &mut FrameDecoder, waiting: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut has_begun = decoder.blocks_decoded() > 0;
    loop {
        if decoder.is_finished() && has_begun && decoder.can_collect() == 0 && !waiting.is_empty() {
            *decoder = FrameDecoder::new();
        }
        match decoder.decode_from_to(waiting, &mut buffer) {
            Ok((read, written)) => {
                waiting.drain(..read.min(waiting.len()));
                out.extend_from_slice(&buffer[..written]);
                if read == 0 && written == 0 {
                    return Ok(out);
                }
                has_begun = true;
            }
            Err(_) if waiting.len() < ZSTD_HEADER_BYTES => return Ok(out),
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
    }
}
