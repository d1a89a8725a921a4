//! The reader on a database that SQLite wrote, and on what others may have made of one.
//!
//! `tests/stores/opencode.store.db` has pages of 512 bytes, trees of two levels, records that go on in other pages, and a column that was added later. Half of its
//! rows are in its log alone; behind them stand the frames of a transaction that was not finished.

extern crate std;

use proptest::prelude::*;

use super::*;

const DATABASE: &[u8] = include_bytes!("../../../tests/stores/opencode.store.db");
const LOG: &[u8] = include_bytes!("../../../tests/stores/opencode.store.db-wal");

/// The frames of the log that were committed; 11 more were not.
const COMMITTED: usize = 20;

/// `39 prt_102 {"type"…}`, one a row, and the remarks.
fn rows(database: &[u8], log: &[u8], table: &str) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let mut remarks = StoreRemarks::default();
    let log = StoreFile { name: "a.db-wal", bytes: log };
    let database = SqliteDatabase::open(StoreFile { name: "a.db", bytes: database }, Some(&log), &mut remarks)?;
    let mut rows = Vec::new();
    let columns = if table == "session" { ["id", "parent_id"] } else { ["id", "data"] };
    database.rows(table, columns, &mut remarks, |row, [id, data]| {
        rows.push(format!("{row} {} {}", id.unwrap_or("-"), data.unwrap_or("-")));
    })?;
    Ok((rows, remarks.iter().map(Cow::into_owned).collect()))
}

#[test]
fn v_9_rows_of_a_database_are_read_with_what_its_log_committed() {
    let (parts, remarks) = rows(DATABASE, LOG, "part").unwrap();
    assert_eq!((parts.len(), remarks.len()), (49, 0), "{remarks:?}");
    assert_eq!(parts[0], r#"1 prt_000 {"type": "text", "text": "Prompt 0."}"#);
    assert_eq!(parts[38], r#"39 prt_102 {"type": "text", "text": "Go on now."}"#);
    assert!(parts[43].starts_with("44 prt_212 {") && parts[43].matches("a long line").count() == 100, "{}", parts[43]);
    assert_eq!(rows(DATABASE, LOG, "session").unwrap().0, ["1 ses_1 -", "2 ses_2 -", "3 ses_3 ses_2"]);

    let (checkpointed, _) = rows(DATABASE, &[], "part").unwrap();
    assert_eq!((checkpointed.len(), &*checkpointed[38]), (39, r#"39 prt_102 {"type": "text", "text": "Go on."}"#));
}

#[test]
fn v_9_of_a_log_that_was_cut_all_whole_transactions_are_read() {
    let frame = 24 + 512;
    for (frames, count) in [(0, 39), (COMMITTED - 2, 39), (COMMITTED - 1, 49), (COMMITTED, 49), (COMMITTED + 3, 49)] {
        for further in [0, 100] {
            let (parts, remarks) = rows(DATABASE, &LOG[..32 + frames * frame + further], "part").unwrap();
            assert_eq!((parts.len(), remarks.len()), (count, 0), "{frames} frames and {further} bytes");
        }
    }
    // A changed byte ends the log where it stands.
    let mut log = LOG.to_vec();
    log[32 + (COMMITTED - 1) * frame + 30] ^= 1;
    let (parts, _) = rows(DATABASE, &log, "part").unwrap();
    assert_eq!((parts.len(), &*parts[38]), (49, r#"39 prt_102 {"type": "text", "text": "Go on."}"#));
}

#[test]
fn v_9_what_is_no_database_or_lacks_a_table_is_refused() {
    let error = |database: &[u8], table: &str| rows(database, LOG, table).unwrap_err().to_string();
    assert!(error(DATABASE, "todo").contains("no table `todo` with the columns id, data"));
    let changed = |at: usize, value: u8| {
        let mut database = DATABASE.to_vec();
        database[at] = value;
        rows(&database, &[], "part").unwrap_err().to_string()
    };
    assert!(changed(3, b'x').contains("no SQLite database"));
    assert!(changed(17, 3).contains("515 bytes"));
    assert!(changed(59, 2).contains("UTF-16"));
    assert!(changed(20, 200).contains("512 bytes"));
}

#[test]
fn v_9_columns_are_found_in_the_statement_that_made_their_table() {
    let statement = "CREATE TABLE \"a (b\" (`id` text PRIMARY KEY, [two words] int, \"c,d\" numeric(10, 2) DEFAULT ('x,y'), e\n\
                     text, PRIMARY KEY(`id`, e), constraint f check (e <> ')'), unique(e), `data` text)";
    assert_eq!(record::column_names(&statement.replace("\"a (b\"", "a")), ["id", "two words", "c,d", "e", "data"]);
    assert_eq!(record::column_names("CREATE TABLE a AS"), [""; 0]);
    assert_eq!(record::column_names("x(`"), [""; 0]);
}

#[test]
fn v_9_numbers_have_one_to_nine_bytes() {
    for (bytes, number) in [
        (&[0x7f][..], Some(127)),
        (&[0x81, 0x00], Some(128)),
        (&[0xff; 9], Some(u64::MAX)),
        (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x05], Some(5)),
        (&[0x81], None),
    ] {
        assert_eq!(record::varint(&mut &*bytes), number, "{bytes:x?}");
    }
    let header = [8, 1, 2, 6, 8, 9, 17, 0];
    let body = [0xfe, 0xff, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 1, b'a', b'b'];
    let record = [&header[..], &body].concat();
    let values = record::values(&record);
    let wanted = [-2, -256, i64::MIN + 1, 0, 1].map(SqliteValue::Integer);
    assert_eq!(values, [&wanted[..], &[SqliteValue::Text("ab"), SqliteValue::Other]].concat());
}

/// Where the page of this number stands.
fn page(number: usize) -> usize {
    (number - 1) * 512
}

#[test]
fn k_12_damaged_pages_are_remarks_and_circles_end() {
    let interior = (2..).find(|number| DATABASE[page(*number)] == 5).unwrap();
    let mut circle = DATABASE.to_vec();
    let itself = u32::try_from(interior).unwrap().to_be_bytes();
    circle[page(interior) + 8..page(interior) + 12].copy_from_slice(&itself);
    let remarks: Vec<String> = ["message", "part"].iter().flat_map(|table| rows(&circle, &[], table).unwrap().1).collect();
    assert_eq!(remarks, [format!("page {interior} of the database is damaged: rows of it are missing here")]);
    let (parts, remarks) = rows(&DATABASE[..page(20)], &[], "part").unwrap();
    assert!(parts.len() < 39 && !remarks.is_empty(), "{remarks:?}");
}

#[test]
fn k_12_cells_that_overlap_do_not_multiply_a_page() {
    let leaf = (2..).find(|number| DATABASE[page(*number)] == 13 && DATABASE[page(*number) + 4] > 3).unwrap();
    let mut database = DATABASE.to_vec();
    let start = page(leaf);
    // As many cells as fit, and all of them the first.
    let first = [database[start + 8], database[start + 9]];
    database[start + 3..start + 5].copy_from_slice(&200_u16.to_be_bytes());
    database[start + 8..start + 8 + 400].copy_from_slice(&first.repeat(200));
    let found: Vec<_> = ["session", "message", "part"].iter().filter_map(|table| rows(&database, &[], table).ok()).collect();
    let count: usize = found.iter().map(|(rows, _)| rows.len()).sum();
    assert!(count < 150, "{count}");
}

proptest! {
    #[test]
    fn k_12_any_change_of_a_database_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut database = DATABASE.to_vec();
        for (at, value) in changes {
            let at = at.index(database.len());
            database[at] = value;
        }
        if is_cut {
            database.truncate(end.index(DATABASE.len()));
        }
        for table in ["session", "message", "part"] {
            for log in [&[][..], LOG] {
                if let Ok((rows, _)) = rows(&database, log, table) {
                    prop_assert!(rows.iter().map(String::len).sum::<usize>() < 100 * DATABASE.len());
                }
            }
        }
    }

    #[test]
    fn k_12_any_log_is_read(bytes in prop::collection::vec(any::<u8>(), 0..100), at in any::<prop::sample::Index>()) {
        let mut log = LOG.to_vec();
        let at = at.index(log.len() - bytes.len());
        log[at..at + bytes.len()].copy_from_slice(&bytes);
        prop_assert!(rows(DATABASE, &log, "part").is_ok());
        prop_assert!(rows(DATABASE, &bytes, "part").is_ok());
    }
}
