//! SQLite databases, read from their bytes: the rows of tables, as the database file and its write-ahead log have them together.
//!
//! ```text
//!   database file ──┐
//!                   ├──> pages ──> b-tree of a table ──> records ──> texts of the wanted columns
//!   -wal file ──────┘ what was committed
//! ```
//!
//! The format is that of <https://www.sqlite.org/fileformat2.html>. Of it there is what the stores of agents need: tables with row ids, and texts in UTF-8.
//! Nothing is locked and nothing written, so a client that still writes is not disturbed. The library of SQLite would do both, and it needs a compiler
//! for C. No page is read twice: the work is linear, whatever the bytes say.

mod log;
mod record;
mod tree;

use alloc::collections::BTreeMap;

use super::conversation::StoreRemarks;
use super::{StoreError, StoreFile};
use log::CommittedLog;
use record::SqliteValue;
use reenact_wire::prelude::*;

/// How a database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The header of a database, at the start of its first page.
const HEADER_BYTES: usize = 100;

/// The page that holds the table of tables.
const SCHEMA_PAGE: u32 = 1;

/// A database.
#[derive(Debug)]
pub(super) struct SqliteDatabase<'a> {
    file: StoreFile<'a>,
    pages: SqlitePages<'a>,
    tables: BTreeMap<String, SqliteTable>,
}

/// A table.
#[derive(Debug)]
struct SqliteTable {
    /// The first page of its tree.
    root: u32,
    /// The names of its columns, in the order of its records.
    columns: Vec<String>,
}

/// The newest state of each page.
#[derive(Debug)]
struct SqlitePages<'a> {
    file: &'a [u8],
    log: CommittedLog<'a>,
    /// Of a page, in bytes.
    size: usize,
    /// How many bytes of a page are used.
    usable: usize,
}

/// Whether a file is a database.
pub(super) fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl<'a> SqliteDatabase<'a> {
    /// Opens a database with its log, the file beside it whose name ends in `-wal`.
    ///
    /// # Errors
    /// When its header is that of no database, or its texts are not in UTF-8.
    pub(super) fn open(file: StoreFile<'a>, log: Option<&StoreFile<'a>>, remarks: &mut StoreRemarks) -> Result<Self, StoreError> {
        let wrong = |problem: String| StoreError::new(&file, problem);
        let log = CommittedLog::read(log.map_or(&[], |log| log.bytes));
        let first = log.pages.get(&SCHEMA_PAGE).copied().or(file.bytes.get(..HEADER_BYTES));
        let header = first.filter(|header| is_database(header)).ok_or_else(|| wrong("it is no SQLite database".into()))?;
        let size = match be16(header, 16) {
            Some(1) => 1 << 16,
            Some(size) => usize::from(size),
            None => 0,
        };
        let usable = size.saturating_sub(header.get(20).copied().unwrap_or_default().into());
        if !size.is_power_of_two() || size < 512 || usable < 480 {
            return Err(wrong(format!("its header says that pages have {size} bytes, which no SQLite database has: copy it again")));
        }
        if be32(header, 56).is_some_and(|encoding| encoding > 1) {
            return Err(wrong("its texts are in UTF-16, and UTF-8 is read: is it the store of an agent?".into()));
        }
        if log.page_size.is_some_and(|of_log| of_log != size) {
            remarks.add(format!("the log of {} is not its own and was left out: its pages have another size", file.name));
        }
        let log = if log.page_size == Some(size) { log } else { CommittedLog::default() };
        let mut database = Self { file, pages: SqlitePages { file: file.bytes, log, size, usable }, tables: BTreeMap::new() };
        let schema = SqliteTable { root: SCHEMA_PAGE, columns: ["type", "name", "tbl_name", "rootpage", "sql"].map(String::from).into() };
        let mut tables = BTreeMap::new();
        database.each_row(&schema, ["type", "name", "rootpage", "sql"], remarks, |_, row| {
            if let [SqliteValue::Text("table"), SqliteValue::Text(name), SqliteValue::Integer(root), SqliteValue::Text(sql)] = row
                && let Ok(root) = u32::try_from(root)
            {
                tables.insert(name.to_owned(), SqliteTable { root, columns: record::column_names(sql) });
            }
        });
        database.tables = tables;
        Ok(database)
    }

    /// Gives each row of a table to `take`, in the order of row ids: the id, and the texts of `columns`. A value that is no text is `None`.
    ///
    /// # Errors
    /// When there is no such table, or it lacks a column.
    pub(super) fn rows<const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
        remarks: &mut StoreRemarks,
        mut take: impl FnMut(i64, [Option<&str>; N]),
    ) -> Result<(), StoreError> {
        let found = self.tables.get(table).filter(|found| columns.iter().all(|name| found.columns.iter().any(|known| known == name)));
        let Some(found) = found else {
            let text = format!("it has no table `{table}` with the columns {}: is it the database of another agent?", columns.join(", "));
            return Err(StoreError::new(&self.file, text));
        };
        self.each_row(found, columns, remarks, |row, values| take(row, values.map(SqliteValue::text)));
        Ok(())
    }

    fn each_row<const N: usize>(
        &self,
        table: &SqliteTable,
        columns: [&str; N],
        remarks: &mut StoreRemarks,
        mut take: impl FnMut(i64, [SqliteValue<'_>; N]),
    ) {
        let places = columns.map(|name| table.columns.iter().position(|known| known == name));
        tree::each_record(&self.pages, table.root, remarks, |row, payload| {
            let values = record::values(payload);
            // A column that was added later is missing in older records.
            take(row, places.map(|place| place.and_then(|place| values.get(place).copied()).unwrap_or(SqliteValue::Other)));
        });
    }
}

impl<'a> SqlitePages<'a> {
    /// A page, from 1.
    fn page(&self, number: u32) -> Option<&'a [u8]> {
        if let Some(page) = self.log.pages.get(&number) {
            return Some(page);
        }
        let start = usize::try_from(number).ok()?.checked_sub(1)?.checked_mul(self.size)?;
        self.file.get(start..start.checked_add(self.size)?)
    }
}

/// A number of two bytes, the greatest first.
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// One of four bytes.
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests;
