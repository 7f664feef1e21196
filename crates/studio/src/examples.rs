//! The example models in the binary, with what each teaches.

/// One example.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example {
    /// Its file.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) source: &'static str,
    pub(super) teaches: &'static str,
    pub(super) text: &'static str,
}

macro_rules! examples {
    ($($name:literal, $title:literal, $source:literal, $teaches:literal;)*) => {
        /// All, the easiest first.
        pub(super) const EXAMPLES: &[Example] = &[$(Example {
            name: $name,
            title: $title,
            source: $source,
            teaches: $teaches,
            text: include_str!(concat!("../../../examples/models/", $name)),
        },)*];
    };
}

const _: () = assert!(EXAMPLES.len() == 17, "each file of examples/models stands here");

examples! {
    "ecommerce.yaml", "E-commerce", "DynamoDB Database Design (Simple AWS)",
        "Ten patterns on one table: an index that many entities share, and one that holds few items.";
    "orders.yaml", "Orders", "Designing Around Access Patterns (Tablyne)",
        "Five patterns and the one index that they need.";
    "storefront.yaml", "Storefront", "DynamoDB Data Modeling",
        "The base patterns of keys and the patterns of indexes, each as a pattern to run.";
    "building-blocks.yaml", "Building blocks", "Amazon DynamoDB developer guide",
        "Sort keys that are ranges, sparse indexes, time to live, shards and filters, one of each.";
    "shop-single-table.yaml", "Shop in one table", "Single-table design of a shop",
        "How two indexes do the work of three.";
    "complaints.yaml", "Complaints", "aws-samples/aws-dynamodb-examples",
        "A listing that scans the table: the check fails, and says what to do.";
    "sessions.yaml", "Sessions", "aws-samples/aws-dynamodb-examples",
        "Items that expire, and a listing by their user.";
    "chat.yaml", "Chat", "aws-samples/aws-dynamodb-examples",
        "Messages of a room in the order of time.";
    "game-profiles.yaml", "Game profiles", "aws-samples/aws-dynamodb-examples",
        "Several entities of a player in one item collection.";
    "social-network.yaml", "Social network", "aws-samples/aws-dynamodb-examples",
        "Many-to-many relations, and counters that are kept as attributes.";
    "connected-vehicles.yaml", "Connected vehicles", "aws-samples/aws-dynamodb-examples",
        "Time series with a key for each vehicle and day.";
    "recurring-payments.yaml", "Recurring payments", "aws-samples/aws-dynamodb-examples",
        "What is due on a day, found by an index with few items.";
    "online-shop.yaml", "Online shop", "aws-samples/amazon-dynamodb-design-patterns",
        "Sixteen patterns of a shop, imported from a document with facets.";
    "alleycat.yaml", "Alleycat races", "Creating a single-table design with Amazon DynamoDB (AWS Compute Blog)",
        "Races, racers and their results under two indexes.";
    "retail-cart.yaml", "Retail cart", "Design challenge of aws-samples/amazon-dynamodb-labs",
        "A cart that becomes an order, and the products in the most carts.";
    "bank-payments.yaml", "Bank payments", "Design challenge of aws-samples/amazon-dynamodb-labs",
        "A hot key that is spread over five shards, and a second table.";
    "rubis.yaml", "Auctions", "Auction benchmark RUBiS, with the workload of michaelmior/NoSE",
        "A large workload with weights, and copied attributes.";
}

/// Whether the check of this example fails on purpose.
pub(super) fn fails(name: &str) -> bool {
    name == "complaints.yaml"
}

pub(super) fn find(name: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.name == name)
}
