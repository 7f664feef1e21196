/** Path of the `keywright` binary: `KEYWRIGHT_BINARY`, or the one of this platform's package. */
export function binary(): string

/** Number of this worker of Jest or Vitest, from 1; 1 in any other process. */
export function worker(): number

export interface ClientConfig {
  endpoint: string
  region: string
  credentials: { accessKeyId: string; secretAccessKey: string }
}

export interface PlaceOptions {
  /** Each worker has an account of its own. Default: `worker()`. */
  worker?: number
  /** Tables of different regions are apart. Default: `us-east-1`. */
  region?: string
}

/** Settings for the clients of the AWS SDK, for a server without credentials. */
export function clientConfig(endpoint: string, options?: PlaceOptions): ClientConfig

export interface Branch {
  /** Settings for clients of the copy. */
  config: ClientConfig
  /** Deletes the copy's tables. */
  drop(): Promise<void>
}

/** Copies all tables that these settings reach, at one instant, to a region of its own. */
export function branch(config: ClientConfig): Promise<Branch>

export interface StartOptions {
  /** Folder of the data. Default: in memory. */
  data?: string
  /** Further arguments of `keywright serve`. */
  args?: string[]
  /** How long a start may take, in milliseconds. Default: 30000. */
  startMs?: number
}

export interface Server extends AsyncDisposable {
  /** URL for clients, such as `http://127.0.0.1:43211`. */
  readonly endpoint: string
  readonly pid: number
  clientConfig(options?: PlaceOptions): ClientConfig
  /** Stops the process and waits for its end. */
  stop(): Promise<void>
}

/** Starts a server on a free port and waits until it accepts requests. */
export function start(options?: StartOptions): Promise<Server>
