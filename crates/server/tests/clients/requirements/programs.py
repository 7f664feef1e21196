"""Programs that users run against a table's metrics and its stream, unchanged from the sources of the requirements."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import boto3


class HotPartitionManager:
    """Manage hot partitions with adaptive sharding"""

    def __init__(self, table_name):
        self.dynamodb = boto3.resource('dynamodb')
        self.table = self.dynamodb.Table(table_name)
        self.cloudwatch = boto3.client('cloudwatch')

    def write_with_jitter(self, partition_key, sort_key, item):
        """Add jitter to partition key for hot partitions"""

        # Check if partition is hot
        if self.is_hot_partition(partition_key):
            # Add random suffix to distribute load
            suffix = random.randint(0, 9)
            partition_key = f"{partition_key}#{suffix}"
            item['OriginalPK'] = partition_key.split('#')[0]

        item['PK'] = partition_key
        item['SK'] = sort_key

        self.table.put_item(Item=item)

    def read_with_scatter_gather(self, original_pk, sk_prefix):
        """Read from sharded partitions"""

        all_items = []

        # Check if using sharding
        if self.is_hot_partition(original_pk):
            # Query all shards in parallel
            with ThreadPoolExecutor(max_workers=10) as executor:
                futures = []

                for shard in range(10):
                    pk = f"{original_pk}#{shard}"
                    future = executor.submit(
                        self._query_shard,
                        pk,
                        sk_prefix
                    )
                    futures.append(future)

                for future in futures:
                    items = future.result()
                    all_items.extend(items)
        else:
            # Query single partition
            all_items = self._query_shard(original_pk, sk_prefix)

        return all_items

    def is_hot_partition(self, partition_key):
        """Check if partition is hot based on CloudWatch metrics"""

        # Get consumed capacity metrics
        response = self.cloudwatch.get_metric_statistics(
            Namespace='AWS/DynamoDB',
            MetricName='UserErrors',
            Dimensions=[
                {'Name': 'TableName', 'Value': self.table.name}
            ],
            StartTime=datetime.now() - timedelta(minutes=5),
            EndTime=datetime.now(),
            Period=60,
            Statistics=['Sum']
        )

        # Check for throttling
        throttle_count = sum(p['Sum'] for p in response['Datapoints'])

        return throttle_count > 10  # Threshold for hot partition


class CapacityOptimizer:
    def __init__(self, table_name):
        self.dynamodb = boto3.client('dynamodb')
        self.cloudwatch = boto3.client('cloudwatch')
        self.table_name = table_name

    def analyze_usage_pattern(self, days=7):
        """Analyze usage pattern to recommend capacity mode"""

        # Get consumed capacity metrics
        end_time = datetime.now()
        start_time = end_time - timedelta(days=days)

        response = self.cloudwatch.get_metric_statistics(
            Namespace='AWS/DynamoDB',
            MetricName='ConsumedReadCapacityUnits',
            Dimensions=[
                {'Name': 'TableName', 'Value': self.table_name}
            ],
            StartTime=start_time,
            EndTime=end_time,
            Period=3600,  # Hourly
            Statistics=['Sum', 'Average', 'Maximum']
        )

        # Calculate metrics
        datapoints = response['Datapoints']

        if not datapoints:
            return {'recommendation': 'INSUFFICIENT_DATA'}

        avg_consumption = sum(p['Average'] for p in datapoints) / len(datapoints)
        max_consumption = max(p['Maximum'] for p in datapoints)
        variance = max_consumption / avg_consumption if avg_consumption > 0 else 0

        # Recommendation logic
        if variance > 10:
            # High variance - spiky traffic
            recommendation = 'ON_DEMAND'
            reason = 'Traffic pattern shows high variance (>10x)'
        elif avg_consumption < 10:
            # Low usage
            recommendation = 'ON_DEMAND'
            reason = 'Low average consumption (<10 RCU)'
        else:
            # Steady traffic
            recommendation = 'PROVISIONED'
            reason = 'Steady traffic pattern with predictable load'

        return {
            'recommendation': recommendation,
            'reason': reason,
            'avg_consumption': avg_consumption,
            'max_consumption': max_consumption,
            'variance': variance
        }

    def switch_to_on_demand(self):
        """Switch table to on-demand billing"""

        self.dynamodb.update_table(
            TableName=self.table_name,
            BillingMode='PAY_PER_REQUEST'
        )

    def switch_to_provisioned(self, read_units, write_units):
        """Switch table to provisioned capacity"""

        self.dynamodb.update_table(
            TableName=self.table_name,
            BillingMode='PROVISIONED',
            ProvisionedThroughput={
                'ReadCapacityUnits': read_units,
                'WriteCapacityUnits': write_units
            }
        )


def lambda_handler(event, context):
    """Process DynamoDB stream events"""

    for record in event['Records']:
        event_name = record['eventName']

        if event_name == 'INSERT':
            handle_insert(record['dynamodb']['NewImage'])
        elif event_name == 'MODIFY':
            handle_update(
                record['dynamodb']['OldImage'],
                record['dynamodb']['NewImage']
            )
        elif event_name == 'REMOVE':
            handle_delete(record['dynamodb']['OldImage'])


def handle_insert(new_image):
    """Handle new item insertion"""

    # Deserialize DynamoDB format
    item = deserialize_dynamodb_item(new_image)

    # Check if it's an order
    if item.get('Type') == 'Order':
        # Send order confirmation email
        send_order_confirmation(item)

        # Update inventory
        update_inventory(item)

        # Trigger fulfillment workflow
        start_fulfillment(item)


def handle_update(old_image, new_image):
    """Handle item updates"""

    old_item = deserialize_dynamodb_item(old_image)
    new_item = deserialize_dynamodb_item(new_image)

    # Check for status changes
    if old_item.get('Status') != new_item.get('Status'):
        notify_status_change(new_item)


def deserialize_dynamodb_item(dynamodb_item):
    """Convert DynamoDB format to Python dict"""
    deserializer = boto3.dynamodb.types.TypeDeserializer()
    return {k: deserializer.deserialize(v) for k, v in dynamodb_item.items()}
