"""What a smaller cache costs: the engines that could serve with it, and how well."""
