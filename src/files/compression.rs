//! Compressed bytes, unpacked up to a bound (K-12): files and bodies that are read to their end here, bodies that come piece by piece in [`inflater`].
//!
//! All code that unpacks bytes uses the decoders of this module, so that one bound of windows holds.

#[doc(hidden)]
pub mod inflater;

use std::io::{self, BufRead, Read};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// More layers are not expected.
const LAYERS_MAX: usize = 3;

/// How far back compressed bytes may point (RFC 9659). The decoder holds that much, however few bytes it is given (K-12).
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;

/// So much memory is taken for bytes of which nobody knows how many come.
const FIRST_BYTES: u64 = 64 << 10;

/// So much of brotli is unpacked at once.
const BROTLI_BUFFER_BYTES: usize = 4 << 10;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionFormat {
    /// RFC 1952.
    Gzip,
    /// RFC 1950; also raw RFC 1951, which some programs send under this name.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl CompressionFormat {
    /// Of a name in a `content-encoding`, in lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Of bytes that begin as only this format begins; the others show nothing by themselves.
    pub fn from_start(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its name in a `content-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The contents of compressed bytes, without a bound.
    pub fn reader<'a>(self, mut packed: impl BufRead + 'a) -> Box<dyn Read + 'a> {
        match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Deflate if packed.fill_buf().is_ok_and(starts_as_zlib) => Box::new(ZlibDecoder::new(packed)),
            Self::Deflate => Box::new(DeflateDecoder::new(packed)),
            Self::Brotli => Box::new(brotli_decompressor::Decompressor::new(packed, BROTLI_BUFFER_BYTES)),
            Self::Zstd => Box::new(ZstdFrames { reader: packed, decoder: zstd_decoder() }),
        }
    }
}

/// The contents of a file: with its compression taken off, or as it is.
///
/// # Errors
/// When it is damaged, larger than `bytes_max` or compressed too often.
pub fn unpacked(mut contents: Vec<u8>, bytes_max: u64) -> io::Result<Vec<u8>> {
    for _ in 0..LAYERS_MAX {
        let Some(format) = CompressionFormat::from_start(&contents) else { return Ok(contents) };
        let inner = read_bounded(format.reader(&contents[..]), bytes_max)?;
        contents = inner.ok_or_else(|| io::Error::other(format!("unpacked it is larger than {} MiB", bytes_max >> 20)))?;
    }
    match CompressionFormat::from_start(&contents) {
        Some(_) => Err(io::Error::other("it is compressed in too many layers")),
        None => Ok(contents),
    }
}

/// All bytes of a reader; `None` where there are more than `bytes_max`. The memory for them doubles as they come, and never for more than that: one that is
/// moved to a larger place takes both for a moment.
///
/// # Errors
/// When the reader has one.
pub fn read_bounded(mut reader: impl Read, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    loop {
        let left = bytes_max - bytes.len() as u64;
        let more = (bytes.len() as u64).max(FIRST_BYTES).min(left);
        bytes.reserve_exact(more as usize);
        let read = reader.by_ref().take(more).read_to_end(&mut bytes)?;
        if (read as u64) < more {
            return Ok(Some(bytes));
        }
        if more == left {
            let is_over = reader.by_ref().take(1).read_to_end(&mut Vec::new())? == 0;
            return Ok(Some(bytes).filter(|_| is_over));
        }
    }
}

/// Whether bytes begin as a zlib stream: its method and a check of two bytes.
fn starts_as_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, ..] if first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31))
}

/// The contents of all zstd frames of a reader: `zstd a b` writes a frame for each file. Skippable frames have no contents.
struct ZstdFrames<R> {
    reader: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Reads the header of the next frame.
    fn begin(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.reader) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let skipped = io::copy(&mut self.reader.by_ref().take(length.into()), &mut io::sink())?;
                if skipped < u64::from(length) { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
            }
            begun => begun.map_err(zstd_error),
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 {
            if !self.decoder.is_finished() {
                self.decoder.decode_blocks(&mut self.reader, BlockDecodingStrategy::UptoBlocks(1)).map_err(zstd_error)?;
            } else if self.reader.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.begin()?;
            }
        }
        self.decoder.read(out)
    }
}

/// A decoder of zstd frames with a bounded window.
fn zstd_decoder() -> FrameDecoder {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(ZSTD_WINDOW_BYTES_MAX);
    decoder
}

/// The error of a decoder, with advice where it helps.
fn zstd_error(error: FrameDecoderError) -> io::Error {
    io::Error::other(match error {
        FrameDecoderError::WindowSizeTooBig { requested, max } => format!(
            "it needs a zstd window of {} MiB, and at most {} MiB are read: compress it again with a smaller window",
            requested >> 20,
            max >> 20
        ),
        error => error.to_string(),
    })
}

/// Bytes compressed for tests, those of `import` too.
#[cfg(any(test, feature = "packed-samples"))]
#[doc(hidden)]
pub mod packed {
    use std::io::Write as _;

    use flate2::Compression;

    /// RFC 1952.
    pub fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// RFC 1950.
    pub fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// RFC 1951.
    pub fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// RFC 8878.
    pub fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// A zstd frame of three bytes that asks for a window of 2 to the power of `exponent` bytes.
    pub fn zstd_with_window(exponent: u8) -> Vec<u8> {
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, (exponent - 10) << 3][..], &[3 << 3 | 1, 0, 0], b"abc"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::packed::{gzip, zstd, zstd_with_window};
    use super::*;

    #[test]
    fn k_12_a_zstd_frame_that_asks_for_a_large_window_is_refused() {
        assert_eq!(unpacked(zstd_with_window(23), 1 << 10).unwrap(), b"abc");
        let error = unpacked(zstd_with_window(24), 1 << 10).unwrap_err().to_string();
        assert!(error.contains("a zstd window of 16 MiB") && error.ends_with("compress it again with a smaller window"), "{error}");
    }

    #[test]
    fn k_5_skippable_frames_have_no_contents() {
        let skippable = |length: u8| [&[0x50, 0x2a, 0x4d, 0x18, length, 0, 0, 0][..], b"12"].concat();
        assert_eq!(unpacked([zstd(b"a"), skippable(2), zstd(b"bc"), skippable(2)].concat(), 1 << 10).unwrap(), b"abc");
        assert!(unpacked([zstd(b"a"), skippable(3)].concat(), 1 << 10).is_err(), "it is cut");
    }

    #[test]
    fn k_12_a_file_is_unpacked_whole_and_to_its_bound() {
        for packed in
            [gzip(b"abc"), zstd(b"abc"), gzip(&zstd(b"abc")), [zstd(b"a"), zstd(b"bc")].concat(), [gzip(b"ab"), gzip(b"c")].concat()]
        {
            assert_eq!(unpacked(packed, 1 << 10).unwrap(), b"abc");
        }
        assert_eq!(unpacked(b"abc".to_vec(), 1).unwrap(), b"abc", "what is not compressed has been read already");
        for packed in [gzip(&[b'a'; 5000]), zstd(&[b'a'; 5000]), [zstd(&[b'a'; 1000]), zstd(&[b'a'; 1000])].concat()] {
            assert!(unpacked(packed, 1 << 10).unwrap_err().to_string().contains("larger"));
        }
        assert!(unpacked((0..4).fold(b"a".to_vec(), |bytes, _| gzip(&bytes)), 1 << 10).is_err());
        for damaged in [gzip(b"abc")[..12].to_vec(), [gzip(b"abc"), b"and more".to_vec()].concat(), [zstd(b"abc"), b"x".to_vec()].concat()]
        {
            assert!(unpacked(damaged, 1 << 10).is_err());
        }
    }
}
