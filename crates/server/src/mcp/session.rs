//! One assistant's session: the protocol over standard input and output.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use tokio::sync::Semaphore;

use super::Setting;
use super::arguments::Arguments;
use super::lines::BoundedLines;
use super::models::Outcome;
use super::tools::{self, Run};
use crate::client::endpoint::block_on;
use crate::connection::budget::Budget;
use crate::limits::{ASSISTANT_ANSWERS_BYTES, BUDGET_WAIT_MS_MAX, JOB_SECONDS_MAX};
use crate::process::failure::Failure;
use crate::studio::{Answers, Cancel, Ended, ModelCall, Pace, Workers};

/// Models that run at a time, each in a process of its own.
const RUNNING_MAX: usize = 2;
/// Calls that run or wait.
const CALLS_MAX: usize = 8;
const INSTRUCTIONS: &str = "Keywright proves DynamoDB data models. Read model_format first, write a model, and run \
    model_check until it passes; model_design finds the cheapest keys, model_cost prices a model.";

struct Session {
    setting: Setting,
    calls: Semaphore,
    running: Semaphore,
    answers: Answers,
}

/// Serves until standard input ends.
pub(super) fn serve(setting: Setting) -> Result<(), Failure> {
    block_on(async {
        let wait = Duration::from_millis(BUDGET_WAIT_MS_MAX);
        let session = Session {
            setting,
            calls: Semaphore::new(CALLS_MAX),
            running: Semaphore::new(RUNNING_MAX),
            answers: Answers::new(&Budget::new(ASSISTANT_ANSWERS_BYTES, wait)),
        };
        let (input, output) = rmcp::transport::stdio();
        let begun = session.serve((BoundedLines::new(input), output)).await;
        let running = begun.map_err(|error| {
            format!("{error}: `keywright mcp` is started by an assistant, which speaks MCP to it")
        })?;
        running.waiting().await.map(|_reason| ()).map_err(|error| Failure::new(error.to_string()))
    })
}

impl Session {
    async fn run(&self, tool: &'static str, run: Run, arguments: Arguments) -> Outcome {
        if let Some(flag) = tools::lacking_flag(run, &self.setting) {
            return Err(without(flag));
        }
        let Ok(_call) = self.calls.try_acquire() else {
            return Err(format!("{CALLS_MAX} calls are under way: wait for one of them"));
        };
        match (run, &self.setting.database) {
            (Run::Model(_), _) => {
                let _place = self.running.acquire().await.map_err(|closed| closed.to_string())?;
                on_models(&self.setting.workers, self.answers.clone(), tool, arguments).await
            }
            (Run::Read, Some(database)) => database.read(arguments).await,
            (Run::History, Some(database)) => database.history(arguments).await,
            (Run::Jobs, Some(database)) => database.jobs(arguments).await,
            (Run::Restore, Some(database)) => database.restore(arguments).await,
            (Run::Write, Some(database)) => database.write(arguments).await,
            (_, None) => Err(without("--endpoint")),
        }
    }
}

/// A call of a tool that needs a flag.
fn without(flag: &str) -> String {
    format!("keywright mcp was started without {flag}, which this tool needs")
}

/// Runs a tool on models in a process, which ends if this is dropped.
async fn on_models(workers: &Workers, answers: Answers, tool: &'static str, arguments: Arguments) -> Outcome {
    let call = ModelCall {
        name: tool,
        pace: Pace::Heavy,
        tables: None,
        folder: None,
        time: Duration::from_secs(JOB_SECONDS_MAX),
        grace: Duration::ZERO,
        answers,
    };
    let body = arguments.json().into();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match workers.execute(&call, body, None, &Cancel::default()).await {
        Ok(Ended::Done(answer)) => Ok(text(&answer)),
        Ok(Ended::Refused(status, _)) if status.is_server_error() => {
            Err("the tool failed: please report this as a defect of Keywright".to_owned())
        }
        Ok(Ended::Refused(_, fault)) => Err(text(&fault)),
        Err(refusal) => Err(refusal.text),
    }
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let itself = Implementation::new("keywright", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(itself)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list(&self.setting)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some((tool, run)) = tools::find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", request.name), None));
        };
        let outcome = tokio::select! {
            outcome = self.run(tool, run, Arguments::new(request.arguments)) => outcome,
            () = context.ct.cancelled() => Err("the call was cancelled".to_owned()),
        };
        let result = match outcome {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(fault) => CallToolResult::error(vec![ContentBlock::text(fault)]),
        };
        Ok(result.into())
    }
}
