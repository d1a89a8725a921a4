//! The API's rules for images: number, bytes, width and height (N-6).
//!
//! Sizes in pixels are read from the heads of PNG and GIF, which lie at fixed places; other formats are taken as they are.

use super::super::block::{BlockKind, Message};
use super::super::models::ModelFacts;
use super::super::raw_json::{RawObject, elements};
use super::{Refusal, ValidationContext};
use crate::prelude::*;

/// No image is wider or higher.
const PIXELS_MAX: u32 = 8_000;

/// Nor this much, where there are more than [`MANY`].
const PIXELS_MAX_OF_MANY: u32 = 2_000;

/// From the next image on there are many.
const MANY: usize = 20;

/// An image in a request.
struct RequestImage<'a> {
    path: String,
    data: Cow<'a, str>,
}

/// The refusal of the images from `start` on, if there is one.
pub(super) fn refusal(messages: &[Arc<Message>], start: usize, facts: Option<&ModelFacts>, rules: &ValidationContext) -> Option<Refusal> {
    let images = images(messages, start);
    if images.is_empty() {
        return None;
    }
    let most = facts.map_or(usize::MAX, ModelFacts::images_max);
    if images.len() > most {
        let text = format!("Too much media: 0 document pages + {} images > {most}", images.len());
        return Some(Refusal::invalid("too_many_images", text)); // plausible
    }
    let is_many = images.len() > MANY;
    images.iter().find_map(|image| bytes_refusal(image, rules.image_bytes_max).or_else(|| pixels_refusal(image, is_many)))
}

fn bytes_refusal(image: &RequestImage<'_>, most: usize) -> Option<Refusal> {
    let (path, bytes) = (&image.path, image.data.len());
    let text = format!("{path}.image.source.base64: image exceeds {} MB maximum: {bytes} bytes > {most} bytes", most >> 20);
    (bytes > most).then(|| Refusal::invalid("image_too_large", text))
}

fn pixels_refusal(image: &RequestImage<'_>, is_many: bool) -> Option<Refusal> {
    let (most, which) = if is_many { (PIXELS_MAX_OF_MANY, " for many-image requests") } else { (PIXELS_MAX, "") };
    let (width, height) = pixels(&image.data)?;
    let path = &image.path;
    let text =
        format!("{path}.image.source.base64.data: At least one of the image dimensions exceed max allowed size{which}: {most} pixels");
    (width.max(height) > most).then(|| Refusal::invalid("image_dimensions", text))
}

/// How many images messages have.
pub(super) fn count(messages: &[Arc<Message>]) -> usize {
    images(messages, 0).len()
}

/// All of them: those of messages and those in results.
fn images(messages: &[Arc<Message>], start: usize) -> Vec<RequestImage<'_>> {
    let mut found = Vec::new();
    for (index, message) in (start..).zip(&messages[start..]) {
        for (position, block) in (0..).zip(&message.content) {
            let path = || format!("messages.{index}.content.{position}");
            let json = block.json().as_str();
            match block.kind() {
                BlockKind::Other(kind) if &**kind == "image" => found.extend(image(path(), json)),
                BlockKind::ToolResult { .. } if memchr::memmem::find(json.as_bytes(), b"\"image\"").is_some() => {
                    let content = RawObject::parse(json).ok().and_then(|block| elements(block.get("content")?).ok());
                    let held = (0..).zip(content.unwrap_or_default());
                    found.extend(held.filter_map(|(nth, item): (usize, _)| image(format!("{}.tool_result.content.{nth}", path()), item)));
                }
                _ => (),
            }
        }
    }
    found
}

fn image(path: String, json: &str) -> Option<RequestImage<'_>> {
    let block = RawObject::parse(json).ok().filter(|block| block.string("type").as_deref() == Some("image"))?;
    let data = block.object("source").and_then(|source| source.string("data")).unwrap_or_default();
    Some(RequestImage { path, data })
}

/// Width and height of a PNG or a GIF in base64.
fn pixels(base64: &str) -> Option<(u32, u32)> {
    let head = decoded(base64.as_bytes());
    let word = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u32::from(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?)));
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((word(16)?, word(20)?));
    }
    if head.starts_with(b"GIF8") { Some((half(6)?, half(8)?)) } else { None }
}

/// The first 24 bytes.
fn decoded(base64: &[u8]) -> Vec<u8> {
    let sextet = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut out = Vec::with_capacity(24);
    for group in base64[..base64.len().min(32)].chunks(4) {
        let bits: u32 = group.iter().map_while(|byte| sextet(*byte)).fold(0, |bits, sextet| bits << 6 | u32::from(sextet));
        let count = group.iter().map_while(|byte| sextet(*byte)).count();
        let bits = if count == 4 { bits } else { bits << (6 * (4 - count)) };
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    out
}
