//! One assistant's session: the protocol over standard input and output.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use tokio::sync::Semaphore;

use super::Setting;
use super::arguments::Arguments;
use super::models::{self, Outcome};
use super::tools::{self, Run};
use crate::endpoint::block_on;

/// Models that run at a time.
const RUNNING_MAX: usize = 2;
const INSTRUCTIONS: &str = "Keywright proves DynamoDB data models. Read model_format first, write a model, and run \
    model_check until it passes; model_design finds the cheapest keys, model_cost prices a model.";

struct Session {
    setting: Arc<Setting>,
    places: Semaphore,
}

/// Serves until standard input ends.
pub(super) fn serve(setting: Setting) -> Result<(), String> {
    block_on(async {
        let session = Session { setting: Arc::new(setting), places: Semaphore::new(RUNNING_MAX) };
        let begun = session.serve(rmcp::transport::stdio()).await;
        let running = begun.map_err(|error| {
            format!("{error}: `keywright mcp` is started by an assistant, which speaks MCP to it")
        })?;
        running.waiting().await.map(|_reason| ()).map_err(|error| error.to_string())
    })
}

impl Session {
    async fn run(&self, run: Run, arguments: Arguments) -> Outcome {
        let on_models = match (run, &self.setting.database) {
            (Run::Model(on_models), _) => on_models,
            (Run::Read, Some(database)) => return database.read(arguments).await,
            (Run::Write, Some(database)) => return database.write(arguments).await,
            (_, None) => return Err("keywright mcp was started without --endpoint".to_owned()),
        };
        let _place = self.places.acquire().await.map_err(|closed| closed.to_string())?;
        let setting = Arc::clone(&self.setting);
        let work = move || models::run(on_models, &setting.folder, arguments);
        let ended = tokio::task::spawn_blocking(work).await;
        ended.unwrap_or_else(|_panic| {
            Err("the tool failed: please report this as a defect of Keywright".to_owned())
        })
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
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(run) = tools::find(&request.name, &self.setting) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", request.name), None));
        };
        let outcome = self.run(run, Arguments::new(request.arguments)).await;
        let result = match outcome {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(fault) => CallToolResult::error(vec![ContentBlock::text(fault)]),
        };
        Ok(result.into())
    }
}
