//! The product's requirements, one test each, checked with boto3 against a real server (`requirements/*.py`):
//! those of its sources (`r01` and on), behaviour observed of the service (`o01`), PartiQL (`q01`),
//! streams as consumer libraries use them (`s01`), and metrics, scaling and throttling (`t15`). Archives in a
//! bucket (`r64`, `r65`) need its store: their tests are in `tests/triggers`.
//!
//! A worker is a server and a Python process that has imported boto3. It checks one requirement after the
//! other and is kept for the next test that needs a server with the same settings. Every check makes tables
//! of its own and looks at no others.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use serde_json::Value;

use crate::support::Server;

type Settings = &'static [&'static str];
/// Settings, and whether one server stands behind the endpoint.
type Kind = (Settings, bool);

/// These look at figures at once. Of several servers over one store each knows its own at once, and those of
/// the others seconds or a minute later (COMPAT.md), so these are checked with one.
const FIGURES: [&str; 10] = ["r46", "r62", "t15", "t30", "t31", "t32", "t33", "t36", "t36s", "t37"];

/// Idle workers, by the settings of their servers and by whether one server stands behind each endpoint. The
/// test harness never drops them: when this program ends, Python reads the end of its input and stops the
/// server.
static IDLE: LazyLock<Mutex<HashMap<Kind, Vec<Worker>>>> = LazyLock::new(Mutex::default);

/// Checks a requirement with the clients that `cargo xtask test` installed.
fn holds(requirement: &str, settings: Settings) {
    let kind = (settings, FIGURES.contains(&requirement));
    let idle = IDLE.lock().unwrap().get_mut(&kind).and_then(Vec::pop);
    let mut worker = idle.unwrap_or_else(|| Worker::start(kind));
    let outcome = worker.check(requirement);
    // A worker whose process has ended panicked above and is dropped.
    IDLE.lock().unwrap().entry(kind).or_default().push(worker);
    assert_eq!(outcome["holds"], true, "{requirement}: {}", outcome["output"].as_str().unwrap_or_default());
}

struct Worker {
    python: Child,
    requirements: ChildStdin,
    outcomes: BufReader<ChildStdout>,
    _server: Server,
}

impl Worker {
    fn start((settings, one): Kind) -> Self {
        let folder =
            std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets the folder of the clients");
        let python = Path::new(&folder).join("python/bin/python");
        assert!(python.exists(), "{} is not installed: run `cargo xtask test`", python.display());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/requirements/worker.py");
        let start = if one { Server::start_one } else { Server::start };
        let server = start(&[&["--in-memory"], settings].concat());
        let mut python = Command::new(python)
            .arg("-B")
            .arg(script)
            .arg(&server.endpoint)
            .env("KEYWRIGHT_BINARY", env!("CARGO_BIN_EXE_keywright"))
            .env(
                "KEYWRIGHT_SERVER_PIDS",
                server.ids().iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requirements = python.stdin.take().unwrap();
        let outcomes = BufReader::new(python.stdout.take().unwrap());
        Self { python, requirements, outcomes, _server: server }
    }

    fn check(&mut self, requirement: &str) -> Value {
        writeln!(self.requirements, "{requirement}").unwrap();
        let mut line = String::new();
        self.outcomes.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| {
            panic!("the Python process ended while it checked {requirement}: {:?}", self.python.wait())
        })
    }
}

macro_rules! requirements {
    ($($name:ident: $id:literal $($setting:literal)*,)*) => {
        $(#[test]
        #[ignore = "needs clients: run `cargo xtask test`"]
        fn $name() {
            holds($id, &[$($setting),*]);
        })*
    };
}

/// Settings of a server whose clock stands as long before the machine's.
fn days_ago(days: u64) -> Settings {
    #[expect(clippy::disallowed_methods, reason = "the program under test compares with the machine's clock")]
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    let then = DateTime::from(then).fmt(DateTimeFormat::DateTime).unwrap();
    Vec::leak(vec!["--clock", String::leak(format!("manual@{then}"))])
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn t35_the_analysis_of_a_week_reaches_all_four_outcomes() {
    holds("t35", days_ago(7));
}

requirements! {
    r01_the_shop_table_is_accepted_and_described: "r01",
    r02_keys_of_every_type_sort_by_type: "r02",
    r03_sort_key_conditions_work_and_a_partition_key_takes_equality_only: "r03",
    r04_the_five_listed_queries_return_exactly_the_listed_items: "r04",
    r05_descending_with_a_limit_returns_the_newest_first: "r05",
    r06_pages_chain_and_end_at_a_megabyte: "r06",
    r07_one_query_returns_profile_and_orders: "r07",
    r08_the_overloaded_index_answers_three_questions: "r08",
    r09_three_indexes_answer_email_status_and_sales: "r09",
    r10_a_status_change_moves_the_item_in_the_index: "r10",
    r11_a_sparse_index_holds_only_items_with_its_keys: "r11",
    r12_keys_only_returns_keys_and_an_unprojected_attribute_is_refused: "r12",
    r13_local_indexes_read_strongly_and_fetch_what_they_lack: "r13",
    r14_an_adjacency_list_is_walked_from_both_sides: "r14",
    r15_composite_sort_keys_answer_status_and_date: "r15",
    r16_a_prefix_reads_neither_saved_nor_wishlist_items: "r16",
    r17_a_hierarchy_lists_children_and_fetches_ancestors: "r17",
    r18_a_sharded_time_series_is_merged_in_order_with_none_lost: "r18",
    r19_decimals_come_back_exactly: "r19",
    r20_lists_of_maps_come_back_unchanged: "r20",
    r21_deleting_a_tenant_leaves_the_others: "r21",
    r22_a_vertically_partitioned_document_is_rebuilt_and_updated_for_one_unit: "r22",
    r23_items_over_400_kb_are_refused_on_put_and_update: "r23",
    r24_strong_reads_cost_twice_and_are_refused_on_global_indexes: "r24",
    r25_filters_and_projections_save_no_capacity: "r25",
    r26_a_filtered_scan_works_and_pages: "r26",
    r27_reserved_words_need_names: "r27",
    r28_an_order_is_placed_whole_or_not_at_all: "r28",
    r29_a_transaction_takes_100_different_items: "r29",
    r30_transfers_keep_the_sum: "r30",
    r31_of_many_writers_with_one_version_exactly_one_wins: "r31",
    r32_arithmetic_and_conditions_behave: "r32",
    r33_sharded_page_views_add_up: "r33",
    r34_sharded_votes_are_aggregated: "r34",
    r35_batches_take_25_writes_and_100_reads: "r35",
    r36_the_batch_writer_writes_everything: "r36",
    r37_processed_and_unprocessed_are_all: "r37",
    r38_a_rename_reaches_every_copy_in_one_transaction: "r38",
    r39_consumed_capacity_follows_the_rules_for_every_operation: "r39",
    r44_a_table_moves_between_billing_modes: "r44",
    r46_describe_table_prints_what_the_query_asks: "r46",
    r57_streams_give_every_change_in_order_with_the_chosen_view: "r57",
    r57_records_are_kept_for_24_hours: "r57d" "--clock" "manual@2026-11-26T16:00:00Z",
    r58_a_typed_handler_logs_new_orders_and_status_changes: "r58",
    r59_a_deserializer_accepts_every_image: "r59",
    r60_a_search_index_stays_equal_to_the_table: "r60",
    r61_expired_items_go_within_the_delay_and_never_early: "r61" "--ttl-delay-ms" "0",
    r62_deletes_by_time_to_live_are_the_services_own: "r62" "--ttl-delay-ms" "0",
    t03_what_was_saved_carries_a_higher_load_for_fifteen_minutes: "t03" "--throttle" "full" "--burst-start-s" "1" "--clock" "manual@2026-11-27T16:00:00Z",
    t07_one_item_has_the_units_of_one_partition: "t07" "--throttle" "full" "--burst-start-s" "1" "--clock" "manual@2026-11-27T16:00:00Z",
    t08_votes_on_one_item_are_refused_for_ever_and_on_twenty_shards_only_at_first: "t08" "--throttle" "full" "--burst-start-s" "1" "--clock" "manual@2026-11-27T16:00:00Z",
    t10_a_hot_key_of_an_index_holds_back_writes_and_its_reads_leave_the_table_alone: "t10" "--throttle" "full" "--burst-start-s" "1" "--clock" "manual@2026-11-27T16:00:00Z",
    t15_failed_conditions_cost_units_and_are_no_user_errors: "t15",
    t25_a_policy_has_four_alarms_with_thresholds_of_its_target: "t25",
    t26_load_raises_the_capacity_within_minutes_and_idling_lowers_it_within_twenty: "t26" "--clock" "manual@2026-11-27T16:00:00Z",
    t27_a_minimum_above_the_capacity_moves_it_with_an_activity: "t27",
    t28_a_scheduled_action_sets_the_bounds_at_its_time: "t28",
    t29_faults_have_the_services_names_and_texts: "t29",
    t30_all_protocols_read_equal_figures_and_get_equal_errors: "t30",
    t31_metrics_agree_with_the_capacity_that_requests_report: "t31",
    t32_queries_of_metrics_are_checked_computed_and_listed: "t32",
    t33_a_batch_is_one_throttled_request_and_each_of_its_items_an_event: "t33" "--burst-start-s" "1",
    t34_an_alarm_is_kept_and_described: "t34",
    t36_a_hot_partition_is_spread_over_ten_suffixes_and_gathered: "t36" "--burst-start-s" "1",
    t36_the_metrics_of_the_service_alone_never_show_that_program_heat: "t36s" "--burst-start-s" "1" "--strict-metrics",
    t37_insights_rank_keys_by_what_they_consume_and_by_throttles: "t37" "--burst-start-s" "1",
    t38_a_simulation_refuses_as_often_as_a_server: "t38" "--throttle" "full" "--burst-start-s" "1" "--clock" "manual@2026-11-27T17:00:00Z",
    t39_values_of_ones_own_metrics_arrive_in_all_protocols: "t39",
    o01_an_item_may_have_409600_bytes_on_every_way_in: "o01",
    o02_an_update_counts_its_statement: "o02",
    o03_an_update_may_not_grow_what_is_stored_past_the_limit: "o03",
    o04_numbers_take_a_byte_for_two_digits_on_each_side_of_the_point: "o04",
    o05_values_are_sized_by_their_type: "o05",
    o06_values_nest_32_levels: "o06",
    o07_size_counts_utf16_units_of_a_string: "o07",
    o08_a_string_set_may_hold_the_empty_string: "o08",
    o09_equal_index_keys_are_told_apart_by_the_tables_key: "o09",
    o10_an_index_of_several_attributes: "o10",
    o11_expressions_take_4096_bytes_before_names_are_put_in: "o11",
    o12_needless_parts_of_expressions_are_refused: "o12",
    o13_a_write_that_fails_its_condition_changes_neither_item_nor_index: "o13",
    o14_a_table_asked_for_by_its_arn_is_answered_by_its_arn: "o14",
    o15_what_a_key_condition_cannot_be_is_told_after_the_faults_of_other_expressions: "o15",
    q01_statements_do_what_the_native_requests_do: "q01",
    q02_select_reads_what_it_must_and_no_more: "q02",
    q03_pages_go_on_where_they_ended: "q03",
    q04_sets_change_in_place: "q04",
    q05_a_batch_tells_of_each_statement: "q05",
    q06_a_transaction_is_whole_or_not_at_all: "q06",
    q07_an_index_of_several_attributes_is_not_for_statements: "q07",
    q08_statements_cost_what_the_native_requests_cost: "q08",
    s01_a_consumer_library_follows_closing_shards_and_its_checkpoints: "s01" "--stream-shard-ms" "200",
    s02_a_disabled_stream_stays_readable_and_a_new_one_is_another: "s02",
    s03_a_rename_reaches_every_copy_through_a_stream_consumer: "s03",
    s04_writers_consumers_and_the_sweep_together: "s04" "--ttl-delay-ms" "0" "--stream-shard-ms" "500",
}
