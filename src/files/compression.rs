//! Compressed files, unpacked in memory up to a bound (K-12).

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// More layers are not expected.
const LAYERS_MAX: usize = 3;

/// How far back a compressed file may point.
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;

/// The name of the compression that these bytes begin with, where it can be taken off.
pub fn name(contents: &[u8]) -> Option<&'static str> {
    match contents {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        _ => None,
    }
}

/// The contents of a file: with its compression taken off, or as it is.
///
/// # Errors
/// When it is damaged, larger than `bytes_max` or compressed too often.
pub fn unpacked(mut contents: Vec<u8>, bytes_max: u64) -> io::Result<Vec<u8>> {
    for _ in 0..LAYERS_MAX {
        contents = match name(&contents) {
            Some("gzip") => bounded(MultiGzDecoder::new(&contents[..]), bytes_max)?,
            Some(_) => unzstd(&contents, bytes_max)?,
            None => return Ok(contents),
        };
    }
    match name(&contents) {
        Some(_) => Err(io::Error::other("it is compressed in too many layers")),
        None => Ok(contents),
    }
}

/// Every frame: a file may have more than one.
fn unzstd(mut rest: &[u8], bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    while !rest.is_empty() {
        let decoder = StreamingDecoder::new_with_max_window_size(&mut rest, ZSTD_WINDOW_BYTES_MAX);
        let decoder = decoder.map_err(|error| io::Error::other(error.to_string()))?;
        out.extend(bounded(decoder, bytes_max - out.len() as u64)?);
    }
    Ok(out)
}

fn bounded(reader: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader.take(bytes_max + 1).read_to_end(&mut out)?;
    match out.len() as u64 > bytes_max {
        true => Err(io::Error::other(format!("unpacked it is larger than {} MiB", bytes_max >> 20))),
        false => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
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
