//! Sizes of images: one that is larger than a model looks at is made smaller (B-1). The feature `images` brings the decoders; without it images come as they are.

use reenact_wire::prelude::*;

/// An image for a model: its media type and its bytes.
pub(crate) type SizedImage<'a> = (&'static str, Cow<'a, [u8]>);

/// The image as it is, without decoders.
#[cfg(not(feature = "images"))]
pub(crate) fn fitting<'a>(media_type: &'static str, content: &'a [u8]) -> Result<SizedImage<'a>, String> {
    Ok((media_type, Cow::Borrowed(content)))
}

/// The image as it is if it fits, and else a smaller one with the same ratio. It is never made larger.
///
/// # Errors
/// It is no image that can be read, or would take too much memory.
#[cfg(feature = "images")]
pub(crate) fn fitting<'a>(media_type: &'static str, content: &'a [u8]) -> Result<SizedImage<'a>, String> {
    extern crate std;
    use image::{ImageFormat, ImageReader, Limits};
    use std::io::Cursor;

    /// So many pixels an image may have on each side.
    const SIDE_MAX: u32 = 1_024;

    /// So much memory a decoder may take.
    const DECODED_BYTES_MAX: u64 = 512 << 20;

    let problem = |error: image::ImageError| format!("the image cannot be read: {error}");
    let format = ImageFormat::from_mime_type(media_type).ok_or_else(|| format!("{media_type} is no known kind of image"))?;
    let (width, height) = ImageReader::with_format(Cursor::new(content), format).into_dimensions().map_err(problem)?;
    if width <= SIDE_MAX && height <= SIDE_MAX {
        return Ok((media_type, Cow::Borrowed(content)));
    }
    let mut reader = ImageReader::with_format(Cursor::new(content), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let smaller = reader.decode().map_err(problem)?.thumbnail(SIDE_MAX, SIDE_MAX);
    // Of the others only the first picture is shown anyway, and these two are written the same everywhere.
    let (media_type, format) = match format {
        ImageFormat::Jpeg => ("image/jpeg", ImageFormat::Jpeg),
        _ => ("image/png", ImageFormat::Png),
    };
    let mut bytes = Cursor::new(Vec::new());
    smaller.write_to(&mut bytes, format).map_err(problem)?;
    Ok((media_type, Cow::Owned(bytes.into_inner())))
}

#[cfg(all(test, feature = "images"))]
mod tests {
    extern crate std;
    use std::io::Cursor;

    use image::{DynamicImage, ImageFormat, ImageReader};

    use super::*;

    fn image(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let pixels = image::RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 7]));
        DynamicImage::ImageRgb8(pixels).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn b_1_a_large_image_is_made_smaller_with_its_ratio_and_a_small_one_is_left() {
        let kinds = [
            ("image/png", ImageFormat::Png, "image/png"),
            ("image/jpeg", ImageFormat::Jpeg, "image/jpeg"),
            ("image/gif", ImageFormat::Gif, "image/png"),
            ("image/webp", ImageFormat::WebP, "image/png"),
        ];
        for (media_type, format, written) in kinds {
            let small = image(1_024, 3, format);
            assert_eq!(fitting(media_type, &small).unwrap(), (media_type, Cow::Borrowed(&small[..])), "{media_type}");
            for (width, height, expected) in [(2_048, 8, (1_024, 4)), (20, 1_025, (20, 1_024)), (1_200, 30, (1_024, 26))] {
                let large = image(width, height, format);
                let (kind, bytes) = fitting(media_type, &large).unwrap();
                let reader = ImageReader::new(Cursor::new(&*bytes)).with_guessed_format().unwrap();
                assert_eq!((kind, reader.into_dimensions().unwrap()), (written, expected), "{media_type} {width}x{height}");
                assert_eq!(fitting(media_type, &large).unwrap().1, bytes, "the same bytes each time");
            }
        }
    }

    #[test]
    fn b_1_a_broken_image_is_an_error() {
        let whole = image(1_100, 50, ImageFormat::Png);
        for bytes in [&whole[..20], &whole[..whole.len() / 2], b"\x89PNG\r\n\x1a\nnothing"] {
            let told = fitting("image/png", bytes).unwrap_err();
            assert!(told.starts_with("the image cannot be read"), "{told}");
        }
    }
}
