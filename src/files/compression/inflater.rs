//! Compressed bodies are stored as they read, piece by piece as they come (K-1).
//!
//! Flushed bytes come out with the piece that brought them. Of zstd the decoder gives only what lies further back than the window of the
//! compressor, so of a small body everything comes with its last piece.
//!
//! A few bytes may unpack to any size. So a body is unpacked a slice at a time, and no further than to a bound (K-12).

use std::io;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::FrameDecoderError;

use super::{CompressionFormat, zstd_decoder, zstd_error};
use reenact_wire::http::{HttpHeader, find};

/// The limit of all layers of one body together (K-12).
const UNPACKED_BYTES_MAX: usize = 256 << 20;

/// More layers than this have no use.
const LAYERS_MAX: usize = 8;

/// So much is unpacked at once: to 1 MiB at most where it is deflated, to 32 MiB where it is zstd. Brotli has no such bound, and is given on in pieces.
const SLICE_BYTES: usize = 1 << 10;

/// So much of brotli is given on at once.
const BROTLI_BUFFER_BYTES: usize = 64 << 10;

/// The size of the pieces in which unpacked bytes are passed on, roughly.
const GIVEN_BYTES: usize = 1 << 20;

/// The longest header of a zstd frame.
const ZSTD_HEADER_BYTES: usize = 18;

/// Takes the encodings of a body off.
pub struct BodyInflater {
    /// The names, as the header has them; empty for a body that is not encoded.
    pub names: String,
    layers: Vec<EncodingLayer>,
    /// How much more it may unpack to.
    left: usize,
}

/// Without the windows of up to 1 GiB that a further standard allows.
type BrotliDecoder = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

enum EncodingLayer {
    Gzip(Box<MultiGzDecoder<BoundedBytes>>),
    /// Which of the two it is shows with its first byte.
    Deflate,
    Zlib(Box<ZlibDecoder<BoundedBytes>>),
    RawDeflate(Box<DeflateDecoder<BoundedBytes>>),
    Brotli(Box<BrotliDecoder>),
    Zstd(Box<FrameDecoder>, Vec<u8>),
}

impl BodyInflater {
    /// For a body with these headers.
    ///
    /// # Errors
    /// The name of an encoding that is not known; all of them where they are too many.
    pub fn from_headers(headers: &[HttpHeader]) -> Result<Self, String> {
        let names = find(headers, "content-encoding").unwrap_or_default();
        let each = names.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty() && name != "identity");
        let mut layers = Vec::new();
        for name in each {
            layers.push(match CompressionFormat::from_name(&name) {
                Some(CompressionFormat::Gzip) => EncodingLayer::Gzip(Box::new(MultiGzDecoder::new(BoundedBytes::default()))),
                Some(CompressionFormat::Deflate) => EncodingLayer::Deflate,
                Some(CompressionFormat::Brotli) => {
                    EncodingLayer::Brotli(Box::new(BrotliState::new_strict(<_>::default(), <_>::default(), <_>::default())))
                }
                Some(CompressionFormat::Zstd) => EncodingLayer::Zstd(Box::new(zstd_decoder()), Vec::new()),
                None => return Err(name),
            });
        }
        if layers.len() > LAYERS_MAX {
            return Err(names.to_owned());
        }
        layers.reverse();
        let names = if layers.is_empty() { String::new() } else { names.to_owned() };
        Ok(Self { names, layers, left: UNPACKED_BYTES_MAX })
    }

    /// Whether there is nothing to take off.
    pub fn is_plain(&self) -> bool {
        self.layers.is_empty()
    }

    /// Gives what the next bytes read as to `sink`: nothing yet, one piece, or more where they unpack to much.
    ///
    /// # Errors
    /// When the body is not what its header says, or unpacks to more than [`UNPACKED_BYTES_MAX`]; and those of `sink`.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let mut given = Vec::new();
        unpack(&mut self.layers, bytes, &mut self.left, &mut |unpacked| {
            given.extend_from_slice(unpacked);
            match given.len() >= GIVEN_BYTES {
                true => sink(std::mem::take(&mut given)),
                false => Ok(()),
            }
        })?;
        if given.is_empty() { Ok(()) } else { sink(given) }
    }
}

/// Through one layer after another, a slice at a time: no layer is ahead of the next by more than what a slice brings.
fn unpack(layers: &mut [EncodingLayer], bytes: &[u8], left: &mut usize, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let Some((layer, inner)) = layers.split_first_mut() else {
        return sink(bytes);
    };
    for slice in bytes.chunks(SLICE_BYTES) {
        layer.feed(slice, left, &mut |unpacked, left| unpack(inner, unpacked, left, sink))?;
    }
    Ok(())
}

/// The bytes of a decoder, up to a bound.
#[derive(Default)]
struct BoundedBytes {
    bytes: Vec<u8>,
    left: usize,
}

impl io::Write for BoundedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_large)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn too_large() -> io::Error {
    io::Error::other(format!("unpacked it is larger than {} MiB", UNPACKED_BYTES_MAX >> 20))
}

impl EncodingLayer {
    /// `left` is how much it may give, and becomes less by that.
    fn feed(&mut self, bytes: &[u8], left: &mut usize, give: &mut GivePiece<'_>) -> io::Result<()> {
        if let (Self::Deflate, Some(first)) = (&self, bytes.first()) {
            // Zlib names its method in its first byte; a raw stream with the same bits would begin with a reserved kind of block.
            *self = match first & 0x0f == 8 {
                true => Self::Zlib(Box::new(ZlibDecoder::new(BoundedBytes::default()))),
                false => Self::RawDeflate(Box::new(DeflateDecoder::new(BoundedBytes::default()))),
            };
        }
        let unpacked = match self {
            Self::Deflate => Vec::new(),
            Self::Gzip(decoder) => inflated(&mut **decoder, MultiGzDecoder::get_mut, bytes, *left)?,
            Self::Zlib(decoder) => inflated(&mut **decoder, ZlibDecoder::get_mut, bytes, *left)?,
            Self::RawDeflate(decoder) => inflated(&mut **decoder, DeflateDecoder::get_mut, bytes, *left)?,
            Self::Brotli(decoder) => return unbrotli(decoder, bytes, left, give),
            Self::Zstd(decoder, waiting) => {
                waiting.extend_from_slice(bytes);
                unzstd(decoder, waiting, *left)?
            }
        };
        *left -= unpacked.len();
        give(&unpacked, left)
    }
}

/// The bytes that a decoder of deflated bytes writes at once.
fn inflated<D: io::Write>(decoder: &mut D, out: fn(&mut D) -> &mut BoundedBytes, bytes: &[u8], left: usize) -> io::Result<Vec<u8>> {
    out(decoder).left = left;
    decoder.write_all(bytes)?;
    decoder.flush()?;
    Ok(std::mem::take(&mut out(decoder).bytes))
}

/// Takes a piece that was unpacked, and what may still follow it.
type GivePiece<'a> = dyn FnMut(&[u8], &mut usize) -> io::Result<()> + 'a;

/// Gives on what a slice brings a piece at a time: fourteen bytes may bring 16 MiB.
fn unbrotli(decoder: &mut BrotliDecoder, slice: &[u8], left: &mut usize, give: &mut GivePiece<'_>) -> io::Result<()> {
    let mut buffer = vec![0; BROTLI_BUFFER_BYTES];
    let (mut unread, mut at, mut whole) = (slice.len(), 0, 0);
    loop {
        let (mut room, mut written) = (buffer.len(), 0);
        let result = BrotliDecompressStream(&mut unread, &mut at, slice, &mut room, &mut written, &mut buffer, &mut whole, decoder);
        *left = left.checked_sub(written).ok_or_else(too_large)?;
        if written > 0 {
            give(&buffer[..written], left)?;
        }
        match result {
            BrotliResult::NeedsMoreOutput => (),
            BrotliResult::NeedsMoreInput => return Ok(()),
            BrotliResult::ResultSuccess if unread == 0 => return Ok(()),
            BrotliResult::ResultSuccess => return Err(io::Error::other("more follows its end")),
            BrotliResult::ResultFailure => return Err(io::Error::other("its brotli is damaged")),
        }
    }
}

/// Decodes the whole blocks that are there; the rest waits.
fn unzstd(decoder: &mut FrameDecoder, waiting: &mut Vec<u8>, left: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut buffer = [0; 8 << 10];
    let mut has_begun = decoder.blocks_decoded() > 0;
    loop {
        if decoder.is_finished() && has_begun && decoder.can_collect() == 0 && !waiting.is_empty() {
            *decoder = zstd_decoder();
        }
        match decoder.decode_from_to(waiting, &mut buffer) {
            Ok((read, written)) => {
                waiting.drain(..read.min(waiting.len()));
                out.extend_from_slice(&buffer[..written]);
                if out.len() > left {
                    return Err(too_large());
                }
                if read == 0 && written == 0 {
                    return Ok(out);
                }
                has_begun = true;
            }
            // The header is not whole, as far as that shows.
            Err(error) if waiting.len() < ZSTD_HEADER_BYTES && !matches!(error, FrameDecoderError::WindowSizeTooBig { .. }) => {
                return Ok(out);
            }
            Err(error) => return Err(zstd_error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::{gzip, zlib, zstd_with_window};
    use super::*;

    /// One frame of blocks that say "this byte, 128 KiB of it".
    fn zstd_of_one_byte(bytes: usize) -> Vec<u8> {
        const BLOCK: usize = 128 << 10;
        let blocks = bytes / BLOCK;
        // Magic, a descriptor without a size, a window of 1 MiB.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 80];
        for number in 1..=blocks {
            let header = BLOCK << 3 | 1 << 1 | usize::from(number == blocks);
            frame.extend_from_slice(&header.to_le_bytes()[..3]);
            frame.push(b'a');
        }
        frame
    }

    /// The letter `a`: 14 bytes for each 16 MiB, and a window of 16 MiB.
    fn brotli_of_letters(pieces: usize) -> Vec<u8> {
        const FIRST: &[u8] = b"\xcf\xff\xff\x7f\x00\x24\xc2\xe2\xb1\x40\x72\xef\xff\x0d";
        const FURTHER: &[u8] = b"\xfc\xff\xff\x07\x40\x02\x20\x0e\x0b\x40\xf7\xfe\xdf\x00";
        [FIRST, &FURTHER.repeat(pieces - 1), b"\x03"].concat()
    }

    /// How much came, the largest piece, and the end.
    fn fed(encoding: &str, bytes: &[u8]) -> (usize, usize, io::Result<()>) {
        let mut inflater = BodyInflater::from_headers(&[HttpHeader::new("content-encoding", encoding)]).ok().unwrap();
        let (mut whole, mut largest) = (0, 0);
        let end = inflater.feed(bytes, &mut |piece| {
            whole += piece.len();
            largest = largest.max(piece.len());
            Ok(())
        });
        (whole, largest, end)
    }

    #[test]
    fn k_12_a_body_that_unpacks_without_end_is_given_up_at_the_bound() {
        let much = vec![b'a'; UNPACKED_BYTES_MAX / 4];
        let packed = gzip(&[much.as_slice(), &much, &much, &much, &much].concat());
        for (encoding, body) in [
            ("gzip", packed.clone()),
            ("gzip, gzip", gzip(&packed)),
            ("gzip, deflate, gzip", gzip(&zlib(&packed))),
            ("zstd", zstd_of_one_byte(UNPACKED_BYTES_MAX + (1 << 20))),
            ("br", brotli_of_letters(256)),
            ("br, gzip", gzip(&brotli_of_letters(256))),
        ] {
            let (whole, largest, end) = fed(encoding, &body);
            assert!(end.unwrap_err().to_string().contains("larger than 256 MiB"), "{encoding}");
            assert!(whole <= UNPACKED_BYTES_MAX && largest <= 33 << 20, "{encoding}: {whole} bytes, at most {largest} at once");
        }
    }

    #[test]
    fn k_12_what_is_within_the_bound_comes_whole() {
        let text = b"many words ".repeat(1 << 20);
        let letters = vec![b'a'; 16 << 20];
        for (encoding, body, text) in
            [("gzip", gzip(&text), &text), ("gzip, deflate", zlib(&gzip(&text)), &text), ("br", brotli_of_letters(1), &letters)]
        {
            let (whole, largest, end) = fed(encoding, &body);
            assert!(end.is_ok() && whole == text.len() && largest < 8 << 20, "{encoding}: {whole}, {largest}");
        }
        assert!(BodyInflater::from_headers(&[HttpHeader::new("content-encoding", &"gzip,".repeat(9))]).is_err());
    }

    #[test]
    fn k_12_a_zstd_frame_that_asks_for_a_large_window_is_refused() {
        assert!(fed("zstd", &zstd_with_window(23)).2.is_ok());
        assert!(fed("zstd", &zstd_with_window(24)).2.unwrap_err().to_string().contains("a zstd window of 16 MiB"));
    }
}
